//! Checks of pages: the actions of a reader, and the contents that a page has to show then.

use super::browser::Browser;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A check of an open page, and its name.
pub type Check = (&'static str, fn(&Browser) -> Result<()>);

/// The checks. One that passes leaves the page as it was.
pub const CHECKS: &[Check] = &[
    ("panels", panels_have_contents),
    ("wheel", the_wheel_zooms),
    ("keys", keys_zoom_and_move),
    ("drag", a_drag_moves),
    ("click", a_click_selects),
    ("line", a_line_selects),
    ("search", a_search_selects),
    ("steps", keys_step),
    ("theme", themes_change),
    ("contrast", texts_have_contrast),
    ("small", small_windows_show_all),
];

/// The key Enter in WebDriver's notation.
const ENTER: &str = "\u{e007}";
/// The key Escape in WebDriver's notation.
const ESCAPE: &str = "\u{e00c}";

/// The width and the height of the window in pixels, except while small windows are checked.
pub const SIZE: [u32; 2] = [1200, 840];

fn text(browser: &Browser, id: &str) -> Result<String> {
    let text = browser.run(&format!("return document.getElementById('{id}').textContent"))?;
    Ok(text.as_str().with_context(|| format!("the page has no `{id}`"))?.to_string())
}

/// Scrolls to the first element of a selector, and returns its place and its size: x, y, width, height. Fails if there
/// is no such element, or if the browser does.
fn place(browser: &Browser, selector: &str) -> Result<[f64; 4]> {
    let script = format!(
        "const found = document.querySelector('{selector}'); if (!found) return null; \
         found.scrollIntoView({{ block: 'nearest', inline: 'start' }}); const box = found.getBoundingClientRect(); \
         return [box.x, box.y, box.width, box.height];"
    );
    let found: Option<[f64; 4]> = serde_json::from_value(browser.run(&script)?)?;
    found.with_context(|| format!("the page has no `{selector}`"))
}

/// Clicks on the first element of a selector: on its middle, or near its left end if it is wide. Fails if there is no
/// such element, or if the browser does.
fn click(browser: &Browser, selector: &str) -> Result<()> {
    let [x, y, width, height] = place(browser, selector)?;
    browser.drag(&[[x + (width / 2.0).min(20.0), y + height / 2.0]])
}

fn fact(browser: &Browser, label: &str) -> Result<Option<String>> {
    let script = format!(
        "const term = [...document.querySelectorAll('#facts dt')].find((dt) => dt.textContent === '{label}'); \
         return term ? term.nextElementSibling.textContent : null;"
    );
    Ok(browser.run(&script)?.as_str().map(str::to_string))
}

/// Checks that the page shows another period than `whole`, and that it shows `whole` after the key `0`. Fails if that
/// is not so, or if the browser fails.
fn check_moved(browser: &Browser, whole: &str) -> Result<()> {
    let shown = text(browser, "period")?;
    ensure!(shown != whole, "the period is still {shown}");
    browser.keys("0")?;
    let shown = text(browser, "period")?;
    ensure!(shown == whole, "the whole run is {whole}, and the page shows {shown}");
    Ok(())
}

/// Checks that each section that is shown has a canvas or more than 20 characters of text, and that no canvas that is
/// shown is blank. Fails if that is not so, or if the browser fails.
fn panels_have_contents(browser: &Browser) -> Result<()> {
    let script = "const blank = (canvas) => { \
                    const data = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, \
                    canvas.height).data.buffer); return data.every((pixel) => pixel === data[0]); }; \
                  const shown = (all) => [...document.querySelectorAll(all)].filter((e) => e.offsetParent !== null); \
                  const has = (s) => s.querySelector('canvas') || s.textContent.trim().length > 20; \
                  const empty = shown('section').filter((s) => !has(s)); \
                  return [...shown('canvas').filter(blank), ...empty].map((e) => e.id);";
    let empty = browser.run(script)?;
    ensure!(empty.as_array().is_some_and(Vec::is_empty), "nothing is in {empty}");
    Ok(())
}

fn the_wheel_zooms(browser: &Browser) -> Result<()> {
    let whole = text(browser, "period")?;
    let [x, y, width, height] = place(browser, "#lanes")?;
    browser.wheel([x + width / 2.0, y + height / 2.0], -300)?;
    check_moved(browser, &whole)
}

fn keys_zoom_and_move(browser: &Browser) -> Result<()> {
    let whole = text(browser, "period")?;
    browser.keys("ww")?;
    let zoomed = text(browser, "period")?;
    browser.keys("d")?;
    let moved = text(browser, "period")?;
    ensure!(moved != zoomed, "the period is still {zoomed}");
    browser.keys("a")?;
    let back = text(browser, "period")?;
    ensure!(back == zoomed, "the period {zoomed} becomes {back}");
    check_moved(browser, &whole)
}

fn a_drag_moves(browser: &Browser) -> Result<()> {
    let whole = text(browser, "period")?;
    browser.keys("www")?;
    let zoomed = text(browser, "period")?;
    let [x, y, width, height] = place(browser, "#lanes")?;
    let middle = [x + width / 2.0, y + height / 2.0];
    browser.drag(&[middle, [middle[0] - 30.0, middle[1]], [middle[0] - 60.0, middle[1]]])?;
    let moved = text(browser, "period")?;
    ensure!(moved != zoomed, "the period is still {zoomed}");
    ensure!(fact(browser, "name")?.is_none(), "a drag selects a span");
    check_moved(browser, &whole)
}

/// Selects the longest collective in its table, zooms to it, deselects it, and selects a span of its name with the
/// mouse. Then checks the facts that are shown and the line that is marked. Fails if one of these is not so, or if the
/// browser fails.
fn a_click_selects(browser: &Browser) -> Result<()> {
    click(browser, "#collectives td.name button")?;
    let name = fact(browser, "name")?.context("the table selects no span")?;
    browser.keys("f")?;
    browser.keys(ESCAPE)?;
    ensure!(fact(browser, "name")?.is_none(), "Escape does not deselect");
    let [x, y, width, height] = place(browser, "#lanes")?;
    // The names of the lanes are at the left.
    let middle = x + 130.0 + (width - 130.0) / 2.0;
    let mut down = 30.0;
    while fact(browser, "name")?.as_ref() != Some(&name) {
        ensure!(down < height, "no click selects {name}");
        browser.drag(&[[middle, y + down]])?;
        down += 9.0;
    }
    for label in ["time", "source", "reason", "received"] {
        ensure!(fact(browser, label)?.is_some_and(|fact| !fact.is_empty()), "the panel has no {label}");
    }
    let source = fact(browser, "source")?.unwrap_or_default();
    let line = browser.run("return document.querySelector('#text .line.marked .number').textContent")?;
    let is_line = line.as_str().is_some_and(|line| source.contains(&format!(":{line}:")));
    ensure!(is_line, "the span is of {source}, and line {line} is marked");
    browser.keys(&format!("{ESCAPE}0"))
}

fn a_line_selects(browser: &Browser) -> Result<()> {
    click(browser, "#text .line.spans .code")?;
    let status = text(browser, "status")?;
    ensure!(status.starts_with("Line "), "a click on a line shows: {status}");
    ensure!(fact(browser, "source")?.is_some(), "the panel has no source");
    browser.keys(&format!("{ESCAPE}0"))
}

fn a_search_selects(browser: &Browser) -> Result<()> {
    browser.keys("/all_")?;
    let found = text(browser, "found")?;
    ensure!(found.ends_with("spans") && !found.starts_with("0 "), "a search finds {found:?}");
    browser.keys(ENTER)?;
    let first = text(browser, "facts")?;
    browser.keys(ENTER)?;
    let second = text(browser, "facts")?;
    ensure!(!first.is_empty() && first != second, "Enter selects the same span again: {first}");
    browser
        .run("const box = document.getElementById('search'); box.value = ''; box.dispatchEvent(new Event('input'))")?;
    browser.keys(ESCAPE)?;
    browser.keys(&format!("{ESCAPE}0"))
}

fn keys_step(browser: &Browser) -> Result<()> {
    browser.keys(".")?;
    let first = fact(browser, "time")?.context("a step selects nothing")?;
    browser.keys(".")?;
    let second = fact(browser, "time")?.context("a step selects nothing")?;
    browser.keys(",")?;
    let again = fact(browser, "time")?;
    ensure!(first != second && again.as_ref() == Some(&first), "steps select {first}, {second} and {again:?}");
    browser.keys(&format!("{ESCAPE}0"))
}

fn page_color(browser: &Browser) -> Result<Value> {
    browser.run("return getComputedStyle(document.body).backgroundColor")
}

/// Checks that the page follows the reader's preference, and that its button overrides it. Fails if that is not so, or
/// if the browser fails.
fn themes_change(browser: &Browser) -> Result<()> {
    let light = page_color(browser)?;
    browser.prefer("dark")?;
    let dark = page_color(browser)?;
    ensure!(light != dark, "a reader who prefers dark colours sees {dark}");
    click(browser, "#theme")?;
    ensure!(page_color(browser)? == light, "the button does not change the theme");
    browser.prefer("light")?;
    click(browser, "#theme")?;
    ensure!(page_color(browser)? == dark, "the button does not change the theme back");
    browser.run("delete document.documentElement.dataset.theme").map(drop)
}

/// Checks the contrast of the colours of texts with those behind them in both themes: at least 4.5, as the guidelines
/// for accessible pages (WCAG 2) ask. Fails if that is not so, or if the browser fails.
fn texts_have_contrast(browser: &Browser) -> Result<()> {
    let script = "const style = getComputedStyle(document.documentElement); \
        const light = (name) => { const hex = style.getPropertyValue(`--${name}`).trim(); \
          const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255) \
            .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); \
          return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]; }; \
        const contrast = (a, b) => { const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y); \
          return (bright + 0.05) / (dark + 0.05); }; \
        const [fronts, backs] = [['text', 'faint', 'focus'], ['page', 'panel', 'inset']]; \
        const pairs = fronts.flatMap((front) => backs.map((back) => [front, back])); \
        const kinds = ['compute', 'collective', 'control', 'wait']; \
        pairs.push(['text', 'mark'], ...kinds.map((kind) => ['on-span', kind])); \
        return pairs.filter(([a, b]) => !(contrast(a, b) >= 4.5)).map(([a, b]) => `${a} on ${b}`);";
    for scheme in ["light", "dark"] {
        browser.prefer(scheme)?;
        let low = browser.run(script)?;
        ensure!(low.as_array().is_some_and(Vec::is_empty), "{scheme}: too little contrast of {low}");
    }
    browser.prefer("light")
}

fn small_windows_show_all(browser: &Browser) -> Result<()> {
    for width in [1280, 900, 600, 360] {
        browser.resize([width, 800])?;
        browser.after_frames()?;
        let wide = browser.run("return document.documentElement.scrollWidth")?;
        ensure!(wide.as_u64() <= Some(width.into()), "in a window of {width} pixels, the page has {wide}");
    }
    browser.resize(SIZE)
}
