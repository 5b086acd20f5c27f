//! A **finding** is a violation or a crash with an identity that stays the same when it is found again.
