//! Memory for small requests where the system has none left.
//!
//! A large request of ours asks fallibly, and its refusal becomes a `MemoryError`. To make that error, with its words, a
//! few small strings and boxes are needed, and whoever asks for those in Rust has the process ended where there is no
//! memory. They are served from here then.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const BLOCK: usize = 64;
const BLOCKS: usize = 1 << 10;
const SIZE: usize = BLOCKS * BLOCK;
const LARGEST_SERVED: usize = 1 << 12;

#[repr(align(64))]
struct Room(UnsafeCell<[u8; SIZE]>);

// SAFETY: each byte of the room belongs to one request at a time, which `SERVED` keeps account of.
unsafe impl Sync for Room {}

static ROOM: Room = Room(UnsafeCell::new([0; SIZE]));
/// Which blocks of the room are handed out.
static SERVED: Mutex<[bool; BLOCKS]> = Mutex::new([false; BLOCKS]);

static BLOCKS_SERVED: AtomicUsize = AtomicUsize::new(0);

/// Whether the room is running out, and the system still has no memory. Who makes many small things asks, and gives up:
/// what is left is for the error.
#[inline]
pub(crate) fn has_ended() -> bool {
    BLOCKS_SERVED.load(Relaxed) > BLOCKS / 4 && system_refuses()
}

#[cold]
fn system_refuses() -> bool {
    let layout = Layout::new::<[u8; LARGEST_SERVED]>();
    // SAFETY: the layout has a size, and what was given for it is given back.
    unsafe {
        let memory = System.alloc(layout);
        if !memory.is_null() {
            System.dealloc(memory, layout);
        }
        memory.is_null()
    }
}

struct Cushioned;

#[global_allocator]
static ALLOCATOR: Cushioned = Cushioned;

/// The offset of a pointer into the room; of another one, something larger than the room.
fn offset_of(pointer: *const u8) -> usize {
    (pointer as usize).wrapping_sub(ROOM.0.get() as usize)
}

#[cold]
fn serve(layout: Layout) -> *mut u8 {
    let Ok(mut served) = SERVED.lock() else { return std::ptr::null_mut() };
    let count = layout.size().div_ceil(BLOCK);
    if layout.size() > LARGEST_SERVED || layout.align() > BLOCK {
        return std::ptr::null_mut();
    }
    let Some(first) = served.windows(count).position(|blocks| !blocks.contains(&true)) else {
        return std::ptr::null_mut();
    };
    served[first..first + count].fill(true);
    BLOCKS_SERVED.fetch_add(count, Relaxed);
    // SAFETY: the offset lies in the room.
    unsafe { ROOM.0.get().cast::<u8>().add(first * BLOCK) }
}

#[cold]
fn take_back(offset: usize, layout: Layout) {
    if let Ok(mut served) = SERVED.lock() {
        let (first, count) = (offset / BLOCK, layout.size().div_ceil(BLOCK));
        served[first..first + count].fill(false);
        BLOCKS_SERVED.fetch_sub(count, Relaxed);
    }
}

// SAFETY: what the system gives goes back to the system; what the room gives lies in it, aligned, and is nobody else's
// until it is given back.
unsafe impl GlobalAlloc for Cushioned {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one that is asked for.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() { serve(layout) } else { memory }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let offset = offset_of(memory);
        if offset < SIZE {
            take_back(offset, layout);
        } else {
            // SAFETY: it does not lie in the room, so the system gave it.
            unsafe { System.dealloc(memory, layout) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if offset_of(memory) >= SIZE {
            // SAFETY: as above.
            let grown = unsafe { System.realloc(memory, layout, new_size) };
            if !grown.is_null() {
                return grown;
            }
        }
        // SAFETY: the caller promises a size that fits; the old memory is as large as its layout says.
        unsafe {
            let grown = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !grown.is_null() {
                std::ptr::copy_nonoverlapping(memory, grown, layout.size().min(new_size));
                self.dealloc(memory, layout);
            }
            grown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_is_aligned_and_apart_and_can_be_served_again() {
        let layout = |(size, align)| Layout::from_size_align(size, align).unwrap();
        let layouts = [(1, 1), (48, 16), (65, 2), (4096, 64)].map(layout);
        let served = layouts.map(|layout| (layout, serve(layout)));
        let mut end = 0;
        for (layout, memory) in &served {
            let start = offset_of(*memory);
            assert!(start >= end && start + layout.size() <= SIZE);
            assert_eq!(*memory as usize % layout.align(), 0);
            end = start + layout.size();
        }
        assert!(serve(layout((LARGEST_SERVED + 1, 1))).is_null());
        for (layout, memory) in served {
            // SAFETY: it was served for this layout and is given back once.
            unsafe { ALLOCATOR.dealloc(memory, layout) };
        }
        assert!(!SERVED.lock().unwrap().contains(&true));
    }
}
