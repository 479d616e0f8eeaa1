//! `passes.md`: the list of passes.

use super::{Markdown, Page};
use shardwise_spmd::PASSES;

pub fn page() -> Page {
    let mut table = Markdown::new(["", "pass", "what it does"]);
    for (i, pass) in PASSES.iter().enumerate() {
        table.row([(i + 1).to_string(), format!("`{}`", pass.name), pass.describes.to_string()]);
    }
    let about = "From a program of global values to the program of one device, in this order. `shardwise opt --pass NAME` runs \
                 one alone; `--dump DIR` writes the module after each under its number. What holds after each stands in \
                 `ARCHITECTURE.md`.";
    Page::of_table("passes.md", "Passes", about, &table)
}
