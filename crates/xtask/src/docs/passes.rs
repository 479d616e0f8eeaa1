//! `passes.md`: the list of passes.

use super::{Markdown, Page};
use shardwise_shardy::SHARDY_PASSES;
use shardwise_spmd::{Guarantee, PASSES};

pub fn page() -> Page {
    let mut table = Markdown::new(["", "pass", "what it does", "what holds from then on"]);
    for (i, pass) in PASSES.iter().enumerate() {
        let ensures = pass.ensures.iter().map(guarantee).collect::<Vec<_>>().join("; ");
        table.row([(i + 1).to_string(), format!("`{}`", pass.name), pass.describes.to_string(), ensures]);
    }
    let about = "From a program of global values to the program of one device, in this order. `shardwise opt --pass NAME` runs \
                 one alone; `--dump DIR` writes the module after each under its number. What holds after each pass is checked \
                 in debug builds, in `shardwise opt --verify` and in all generated tests.";
    Page::of_table("passes.md", "Passes", about, &table)
}

fn guarantee(guarantee: &Guarantee) -> String {
    match guarantee.until {
        Some(pass) => format!("{} (until `{pass}`)", guarantee.says),
        None => guarantee.says.to_string(),
    }
}

/// Returns `shardy_passes.md`: Shardy's passes by their names.
pub fn shardy_page() -> Page {
    let mut table = Markdown::new(["pass", "options", "what it does"]);
    for pass in SHARDY_PASSES {
        let options = pass.options.iter().map(|o| format!("`{o}`")).collect::<Vec<_>>().join(" ");
        table.row([format!("`{}`", pass.name), options, pass.describes.to_string()]);
    }
    let about = "Shardy's passes under their own names, with Shardy's choices: `shardwise opt --pass NAME{OPTION=VALUE}` in a build with the \
                 feature `shardy`. \
                 `cargo xtask lit DIR` runs Shardy's test files through them. The pipeline has passes of its own after \
                 propagation.";
    Page::of_table("shardy_passes.md", "Shardy's passes", about, &table)
}
