//! Tests that the dependencies comply with `deny.toml`.

#[test]
fn dependencies_are_allowed() {
    let found = xtask::deny::violations().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
