//! Staging, syncing, publishing, recovery: the only module that changes directories.
