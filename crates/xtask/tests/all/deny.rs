//! Dependencies are what `deny.toml` allows.

#[test]
fn dependencies_are_allowed() {
    let found = xtask::deny::violations().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
