//! Tests of rules that may only become stricter. Exceptions are listed in `ratchets.toml`.

use xtask::ratchet::{self, Exceptions};

#[track_caller]
fn assert_none(wrong: anyhow::Result<Vec<String>>) {
    let wrong = wrong.unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_new_long_functions() {
    assert_none(ratchet::long_functions(&Exceptions::read().unwrap()));
}

#[test]
fn no_new_unsafe_code() {
    assert_none(ratchet::unsafe_code(&Exceptions::read().unwrap()));
}

#[test]
fn no_circles_of_imports() {
    assert_none(ratchet::import_circles());
}

#[test]
fn no_new_long_files() {
    assert_none(ratchet::long_files(&Exceptions::read().unwrap()));
}

#[test]
fn generic_code_mentions_no_ordinary_op() {
    assert_none(ratchet::mentions(&Exceptions::read().unwrap()));
}

#[test]
fn generic_code_names_no_attribute_by_a_string() {
    assert_none(ratchet::string_keys(&Exceptions::read().unwrap()));
}

#[test]
fn no_more_ops_without_a_kernel() {
    assert_none(ratchet::evaluated(&Exceptions::read().unwrap()));
}

#[test]
fn no_fewer_cells_of_the_coverage() {
    assert_none(ratchet::covered(&Exceptions::read().unwrap()));
}

#[test]
fn nothing_is_ignored_or_left_to_do() {
    assert_none(ratchet::unfinished());
}

#[test]
fn no_traces_of_a_machine() {
    assert_none(ratchet::local_traces());
}

#[test]
fn comments_and_messages_read_once() {
    assert_none(ratchet::english(&Exceptions::read().unwrap()));
}
