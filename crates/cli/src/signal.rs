//! Handles Ctrl-C.

use shardwise_base::CancelToken;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// The exit code of a command that was interrupted.
pub const INTERRUPTED: u8 = 130;

/// Returns a token that the first Ctrl-C cancels. The second one ends the process at once. If the system refuses the
/// handlers, the first one ends the process too.
pub fn interruption() -> CancelToken {
    let token = CancelToken::default();
    // The order matters: the first signal finds the flag false and sets it. Without handlers, Ctrl-C ends the process
    // as usual.
    let shutdown = flag::register_conditional_shutdown(SIGINT, i32::from(INTERRUPTED), token.flag());
    let _ = shutdown.and_then(|_| flag::register(SIGINT, token.flag()));
    token
}
