//! What all targets share: an allocator that refuses to make more room than the input can fill, a panic hook that tells
//! defects from tantivy's own panics, and an index to tamper with.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

pub mod index;
mod seeds;

/// Room that any run may need, in one piece.
const BASE: usize = 4 << 20;

/// How large a single allocation may be, in bytes for each byte of input.
#[derive(Clone, Copy)]
pub struct Room(usize, usize);

/// What is parsed into structures.
pub const SMALL: Room = Room(256, 0);
/// Bit-packed numbers of no bits: a byte stands for 128 of them.
pub const PACKED: Room = Room(1 << 12, 0);
/// Blocks of zstd: four bytes stand for 128 KiB.
pub const COMPRESSED: Room = Room(1 << 15, 0);
/// Tables of routing: 2^24 slots are legal, however short they are written.
pub const TABLES: Room = Room(256, 256 << 20);

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

struct Bounded;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

fn check(size: usize) {
    let limit = LIMIT.load(Ordering::Relaxed);
    if size > limit {
        // Once: what is printed allocates as well.
        LIMIT.store(usize::MAX, Ordering::Relaxed);
        let trace = std::backtrace::Backtrace::force_capture();
        let _ = writeln!(std::io::stderr(), "an allocation of {size} bytes, {limit} are allowed\n{trace}");
        std::process::abort();
    }
}

// SAFETY: the system's allocator does all of it.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        check(size);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `target` with as much room as `len` bytes of input may take.
pub fn bounded<T>(room: Room, len: usize, target: impl FnOnce() -> T) -> T {
    LIMIT.store(BASE.saturating_add(room.1).saturating_add(room.0.saturating_mul(len)), Ordering::Relaxed);
    let result = target();
    LIMIT.store(usize::MAX, Ordering::Relaxed);
    result
}

/// Called once. libFuzzer's hook ends the process at every panic; tantivy's, on bytes that only a checksum could have
/// shown to be wrong, are caught and become errors, and are none of our business here. Ours are.
pub fn start() {
    if std::env::var_os("WRITE_SEEDS").is_some() {
        seeds::write_all();
        std::process::exit(0);
    }
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or("", |location| location.file());
        let theirs = place.contains("/registry/src/") || place.contains("/rustc/") || place.contains("/library/");
        if !(theirs && shardsplit::source::panics_become_errors()) {
            LIMIT.store(usize::MAX, Ordering::Relaxed);
            report(panic);
        }
    }));
}

/// An error must say something, and must not be a defect of ours.
pub fn typed(error: &shardsplit::Error) {
    assert!(!error.one_line().is_empty());
    let shown = format!("{error:?}");
    let defect = shown.starts_with("Defect") || shown.starts_with("Census");
    assert!(!defect, "a defect: {shown}");
}
