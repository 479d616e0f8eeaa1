//! A browser without a window that is steered through WebDriver, which is HTTP with JSON. No library is needed for it.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The environment variable that names the driver, in place of `chromedriver`.
const DRIVER: &str = "CHROMEDRIVER";

/// How to get a browser.
const HELP: &str = "the page needs Chromium and its driver to be tested: on Debian, `apt-get install chromium \
                    chromium-driver`; elsewhere, set CHROMEDRIVER to the path of `chromedriver`";

/// The longest time for which the driver may send nothing of an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running browser. It ends when this is dropped.
pub struct Browser {
    driver: Driver,
    /// The path of the session in requests.
    session: String,
}

/// The process of the driver. It is killed when this is dropped.
struct Driver {
    process: Child,
    /// The driver's output is kept open, because the driver may write more of it.
    _output: BufReader<ChildStdout>,
    port: u16,
}

impl Drop for Driver {
    fn drop(&mut self) {
        // This fails if the driver has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Driver {
    fn start() -> Result<Driver> {
        let name = std::env::var(DRIVER).unwrap_or("chromedriver".into());
        let mut command = Command::new(&name);
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().with_context(|| format!("cannot start `{name}`: {HELP}"))?;
        let mut output = BufReader::new(process.stdout.take().expect("piped"));
        let port = port_of(&mut output);
        let driver = Driver { process, _output: output, port: port.as_ref().copied().unwrap_or(0) };
        port.with_context(|| format!("`{name}` does not start: {HELP}"))?;
        Ok(driver)
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).context("the driver has ended")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer: Value = serde_json::from_str(&answer(BufReader::new(stream))?)?;
        if let Some(error) = answer["value"]["error"].as_str() {
            bail!("{path}: {error}: {}", answer["value"]["message"].as_str().unwrap_or_default());
        }
        Ok(answer["value"].take())
    }
}

fn port_of(output: &mut impl BufRead) -> Result<u16> {
    for line in output.lines() {
        let line = line?;
        if let Some((_, port)) = line.rsplit_once("successfully on port ") {
            return Ok(port.trim_end_matches('.').parse()?);
        }
    }
    bail!("it ended without a port")
}

fn answer(mut stream: impl BufRead) -> Result<String> {
    let mut length = None;
    loop {
        let mut line = String::new();
        ensure!(stream.read_line(&mut line)? > 0, "the answer of the driver has no end");
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse().ok(),
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length.context("the answer of the driver has no length")?];
    stream.read_exact(&mut body)?;
    Ok(String::from_utf8(body)?)
}

impl Browser {
    /// Starts a browser. Fails if there is none, with how to get one.
    pub fn open() -> Result<Browser> {
        let driver = Driver::start()?;
        // The pages are our own, and the sandbox cannot be made in many containers.
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-lcd-text"];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = driver.request("POST", "/session", &wanted).context(HELP)?;
        let id = session["sessionId"].as_str().context("the driver has started no session")?;
        let session = format!("/session/{id}");
        Ok(Browser { driver, session })
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.driver.request("POST", &format!("{}/{path}", self.session), body)
    }

    /// Opens a file, and waits until it is loaded. Fails if the browser does.
    pub fn go(&self, file: &Path) -> Result<()> {
        self.post("url", &json!({ "url": format!("file://{}", file.display()) })).map(drop)
    }

    /// Runs a script in the page, and returns its result. Fails if the browser does.
    pub fn run(&self, script: &str) -> Result<Value> {
        self.post("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until the page has drawn two more frames, and returns the milliseconds since it started to open. Fails if
    /// the browser does.
    pub fn after_frames(&self) -> Result<f64> {
        let script = "const done = arguments[0]; \
                      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));";
        let time = self.post("execute/async", &json!({ "script": script, "args": [] }))?;
        time.as_f64().context("the page returns no time")
    }

    /// Returns the messages on the console since the last call. Fails if the browser does.
    pub fn messages(&self) -> Result<Vec<String>> {
        let entries = self.post("se/log", &json!({ "type": "browser" }))?;
        let entries = entries.as_array().cloned().unwrap_or_default();
        Ok(entries.iter().map(|entry| entry["message"].as_str().unwrap_or_default().to_string()).collect())
    }

    /// Sets the size of the page's window in pixels. Fails if the browser does.
    pub fn resize(&self, [width, height]: [u32; 2]) -> Result<()> {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", metrics).map(drop)
    }

    /// Sets the scheme of colours that the reader prefers: `light` or `dark`. Fails if the browser does.
    pub fn prefer(&self, scheme: &str) -> Result<()> {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.command("Emulation.setEmulatedMedia", json!({ "features": [feature] })).map(drop)
    }

    /// Runs a command of Chromium's own protocol, and returns its result. Fails if the browser does.
    fn command(&self, name: &str, parameters: Value) -> Result<Value> {
        self.post("goog/cdp/execute", &json!({ "cmd": name, "params": parameters }))
    }

    /// Moves the mouse along these points with the button down, or clicks if there is one point. Fails if there is no
    /// point, or if the browser fails.
    pub fn drag(&self, points: &[[f64; 2]]) -> Result<()> {
        let to = |[x, y]: [f64; 2]| json!({ "type": "pointerMove", "duration": 0, "x": x as i64, "y": y as i64 });
        let button = |kind: &str| json!({ "type": kind, "button": 0 });
        let (first, rest) = points.split_first().context("a click needs a point")?;
        let mut steps = vec![to(*first), button("pointerDown")];
        steps.extend(rest.iter().copied().map(to));
        steps.push(button("pointerUp"));
        self.act(json!({ "type": "pointer", "id": "mouse", "actions": steps }))
    }

    /// Turns the wheel at a point by this many pixels, down if the number is positive. Fails if the browser does.
    pub fn wheel(&self, [x, y]: [f64; 2], by: i32) -> Result<()> {
        let turn = json!({ "type": "scroll", "x": x as i64, "y": y as i64, "deltaX": 0, "deltaY": by, "duration": 0 });
        self.act(json!({ "type": "wheel", "id": "wheel", "actions": [turn] }))
    }

    /// Sends the keys of a text, in which WebDriver's private characters are keys without a character. Fails if the
    /// browser does.
    pub fn keys(&self, text: &str) -> Result<()> {
        let press = |key: char| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key }));
        let steps: Vec<Value> = text.chars().flat_map(press).collect();
        self.act(json!({ "type": "key", "id": "keyboard", "actions": steps }))
    }

    fn act(&self, source: Value) -> Result<()> {
        self.post("actions", &json!({ "actions": [source] }))?;
        self.after_frames().map(drop)
    }

    /// Returns a picture of the window as a WebP file. Fails if the browser does.
    pub fn screenshot(&self) -> Result<Vec<u8>> {
        // This quality has no losses, and pictures of pages are smaller with it than with a lower one.
        let shot = self.command("Page.captureScreenshot", json!({ "format": "webp", "quality": 100 }))?;
        shot["data"].as_str().and_then(decoded).context("the driver returns no picture")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The end of the session is the end of the browser. If this fails, the driver ends it.
        let _ = self.driver.request("DELETE", &self.session, &Value::Null);
    }
}

/// Decodes base64. Returns `None` if the text has a character that base64 does not have.
fn decoded(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (vec![], 0u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | DIGITS.iter().position(|&d| d == digit)? as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        let cases = [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")];
        for (text, expected) in cases {
            assert_eq!(decoded(text).as_deref(), Some(expected.as_bytes()), "{text}");
        }
        assert_eq!(decoded("Zm9*"), None);
    }

    #[test]
    fn answers_and_ports_are_read() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nCache: no\r\n\r\nbodymore";
        assert_eq!(answer(whole.as_bytes()).unwrap(), "body");
        assert!(answer(&whole.as_bytes()[..30]).is_err());
        assert!(answer("HTTP/1.1 200 OK\r\n\r\n".as_bytes()).is_err());
        let output = "Starting\nChromeDriver was started successfully on port 4711.\n";
        assert_eq!(port_of(&mut output.as_bytes()).unwrap(), 4711);
        assert!(port_of(&mut "".as_bytes()).is_err());
    }
}
