; The workspace: blocks of memory that arrays of generated code gave back and later ones take again.
;
; adjit_pool_array(size, alignment) gives a numba MemInfo, as numba's NRT_MemInfo_alloc_aligned does. Below @threshold it is numba's own; above,
; it comes from a slot of the pool if one fits, and goes back there when the array's last reference is dropped. The pool
; holds at most @limit bytes: the blocks that came longest ago make room. A lock guards the slots for the time of a scan;
; a thread that does not get it soon allocates and frees as if there were no pool, so that nothing ever waits.
;
; A block is aligned to 64 bytes; its size, and where the allocation begins, stand in the two words before it. From @huge bytes
; on it is a mapping of its own, for which the system is asked to use pages of 2 MB, as NumPy does for its arrays: what goes
; through a long tape misses few pages then. @map, @unmap and @advise are mmap, munmap and madvise, or null where there are none.

%slot = type { ptr, i64, i64 }        ; block or null, its size, when it came

@slots = internal global [64 x %slot] zeroinitializer
@lock = internal global i32 0
@held = internal global i64 0
@clock = internal global i64 0
@limit = internal global i64 1073741824
@threshold = internal global i64 1048576
@huge = internal constant i64 4194304
@map = internal global ptr null
@unmap = internal global ptr null
@advise = internal global ptr null
@map_flags = internal global i32 0
@advice = internal global i32 0
@make_block = internal global ptr null
@alignment = internal global i32 0
@faults = internal global ptr null

declare ptr @NRT_Allocate(i64)
declare void @NRT_Free(ptr)
declare ptr @NRT_MemInfo_alloc_aligned(i64, i32)
declare ptr @NRT_get_api()
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)

define ptr @adjit_pool_array(i64 %size, i32 %alignment) {
  %least = load i64, ptr @threshold
  %is_small = icmp slt i64 %size, %least
  br i1 %is_small, label %small, label %large
small:
  %own = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment)
  ret ptr %own
large:
  %block = call ptr @take(i64 %size)
  %is_null = icmp eq ptr %block, null
  br i1 %is_null, label %failed, label %wrap
wrap:
  %api = call ptr @NRT_get_api()
  %entry = getelementptr ptr, ptr %api, i64 2
  %manage_memory = load ptr, ptr %entry
  %made = call ptr %manage_memory(ptr %block, ptr @give)
  ret ptr %made
failed:
  ret ptr null
}

; The memory of an array in the workspace, of two extents and `rest` others; null if it raises.
define ptr @adjit_pool_block(ptr %raised, i64 %itemsize, i64 %first, i64 %second, i64 %rest, ptr %others) {
  %make = load ptr, ptr @make_block
  %made = call ptr @allocate(ptr %make, i32 64, ptr %raised, i64 %itemsize, i64 %first, i64 %second, i64 %rest, ptr %others)
  ret ptr %made
}

; The same of one that goes back to the system.
define ptr @adjit_pool_allocation(ptr %raised, i64 %itemsize, i64 %first, i64 %second, i64 %rest, ptr %others) {
  %alignment = load i32, ptr @alignment
  %made = call ptr @allocate(ptr @NRT_MemInfo_alloc_aligned, i32 %alignment, ptr %raised, i64 %itemsize, i64 %first, i64 %second, i64 %rest, ptr %others)
  ret ptr %made
}

define internal ptr @allocate(ptr %make, i32 %alignment, ptr %raised, i64 %itemsize, i64 %first, i64 %second, i64 %rest, ptr %others) {
  %row = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %itemsize, i64 %first)
  %row_size = extractvalue { i64, i1 } %row, 0
  %is_row_over = extractvalue { i64, i1 } %row, 1
  %plane = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %row_size, i64 %second)
  %plane_size = extractvalue { i64, i1 } %plane, 0
  %is_plane_over = extractvalue { i64, i1 } %plane, 1
  %is_over = or i1 %is_row_over, %is_plane_over
  %signs = or i64 %first, %second
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %next, %multiply ]
  %size = phi i64 [ %plane_size, %0 ], [ %larger, %multiply ]
  %is_too_large = phi i1 [ %is_over, %0 ], [ %is_too_large_now, %multiply ]
  %sign = phi i64 [ %signs, %0 ], [ %sign_now, %multiply ]
  %more = icmp ult i64 %k, %rest
  br i1 %more, label %multiply, label %check
multiply:
  %place = getelementptr i64, ptr %others, i64 %k
  %extent = load i64, ptr %place
  %sign_now = or i64 %sign, %extent
  %product = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %size, i64 %extent)
  %larger = extractvalue { i64, i1 } %product, 0
  %is_product_over = extractvalue { i64, i1 } %product, 1
  %is_too_large_now = or i1 %is_too_large, %is_product_over
  %next = add i64 %k, 1
  br label %loop
check:
  %is_negative = icmp slt i64 %sign, 0
  br i1 %is_negative, label %failed, label %check_size
check_size:
  br i1 %is_too_large, label %failed, label %memory
memory:
  %made = call ptr %make(i64 %size, i32 %alignment)
  %is_null = icmp eq ptr %made, null
  br i1 %is_null, label %failed, label %done
failed:
  %fault = phi i64 [ 0, %check ], [ 1, %check_size ], [ 2, %memory ]
  %faults = load ptr, ptr @faults
  %said = getelementptr { ptr, i32, ptr, ptr, i32 }, ptr %faults, i64 %fault
  store ptr %said, ptr %raised
  ret ptr null
done:
  ret ptr %made
}

; What makes blocks, how other arrays are aligned, and what numba has of errors that are raised: for an extent below zero,
; too many bytes, and no memory.
define void @adjit_pool_set(ptr %make, i32 %alignment, ptr %faults) {
  store ptr %make, ptr @make_block
  store i32 %alignment, ptr @alignment
  store ptr %faults, ptr @faults
  ret void
}

define i64 @adjit_pool_held() {
  %held = load i64, ptr @held
  ret i64 %held
}

define void @adjit_pool_limits(i64 %limit, i64 %threshold) {
  store i64 %limit, ptr @limit
  store i64 %threshold, ptr @threshold
  ret void
}

define void @adjit_pool_pages(ptr %mmap, ptr %munmap, ptr %madvise, i32 %flags, i32 %advice) {
  store ptr %mmap, ptr @map
  store ptr %munmap, ptr @unmap
  store ptr %madvise, ptr @advise
  store i32 %flags, ptr @map_flags
  store i32 %advice, ptr @advice
  ret void
}

; Whether a block of this size is a mapping of its own.
define internal i1 @is_mapped(i64 %size) {
  %least = load i64, ptr @huge
  %is_huge = icmp uge i64 %size, %least
  %map = load ptr, ptr @map
  %can_map = icmp ne ptr %map, null
  %both = and i1 %is_huge, %can_map
  ret i1 %both
}

; Frees what the pool holds; 0 if another thread had the lock.
define i32 @adjit_pool_clear() {
  %in = call i1 @enter()
  br i1 %in, label %loop, label %busy
loop:
  %k = phi i64 [ 0, %0 ], [ %next, %loop ]
  call void @evict(i64 %k)
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %done
done:
  call void @leave()
  ret i32 1
busy:
  ret i32 0
}

; A block of at least `size` bytes and at most twice that from the pool, else a new one.
define internal ptr @take(i64 %size) {
  %in = call i1 @enter()
  br i1 %in, label %scan, label %fresh
scan:
  %most = mul i64 %size, 2
  br label %loop
loop:
  %k = phi i64 [ 0, %scan ], [ %next, %no ]
  %own_size = getelementptr [64 x %slot], ptr @slots, i64 0, i64 %k, i32 1
  %there = load i64, ptr %own_size
  %is_enough = icmp uge i64 %there, %size
  %is_near = icmp ule i64 %there, %most
  %fits = and i1 %is_enough, %is_near
  br i1 %fits, label %found, label %no
no:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %none
found:
  %own_block = getelementptr [64 x %slot], ptr @slots, i64 0, i64 %k, i32 0
  %block = load ptr, ptr %own_block
  store ptr null, ptr %own_block
  store i64 0, ptr %own_size
  %before = load i64, ptr @held
  %after = sub i64 %before, %there
  store i64 %after, ptr @held
  call void @leave()
  ret ptr %block
none:
  call void @leave()
  br label %fresh
fresh:
  %room = add i64 %size, 128
  %is_mapped = call i1 @is_mapped(i64 %size)
  br i1 %is_mapped, label %own_pages, label %heap
own_pages:
  %map = load ptr, ptr @map
  %flags = load i32, ptr @map_flags
  %pages = call ptr %map(ptr null, i64 %room, i32 3, i32 %flags, i32 -1, i64 0)
  %no_pages = icmp eq ptr %pages, inttoptr (i64 -1 to ptr)
  br i1 %no_pages, label %failed, label %advise
advise:
  %tell = load ptr, ptr @advise
  %advice = load i32, ptr @advice
  ; where the kernel has no such pages, all stays as it is
  %ignored = call i32 %tell(ptr %pages, i64 %room, i32 %advice)
  br label %align
heap:
  %chunk = call ptr @NRT_Allocate(i64 %room)
  %is_null = icmp eq ptr %chunk, null
  br i1 %is_null, label %failed, label %align
align:
  %start = phi ptr [ %pages, %advise ], [ %chunk, %heap ]
  %address = ptrtoint ptr %start to i64
  %past = add i64 %address, 127
  %aligned = and i64 %past, -64
  %made = inttoptr i64 %aligned to ptr
  %size_word = getelementptr i64, ptr %made, i64 -2
  store i64 %size, ptr %size_word
  %start_word = getelementptr ptr, ptr %made, i64 -1
  store ptr %start, ptr %start_word
  ret ptr %made
failed:
  ret ptr null
}

; What the last reference to an array calls.
define internal void @give(ptr %block) {
  %size_word = getelementptr i64, ptr %block, i64 -2
  %size = load i64, ptr %size_word
  %limit = load i64, ptr @limit
  %is_larger = icmp ugt i64 %size, %limit
  br i1 %is_larger, label %drop, label %try
drop:
  call void @release(ptr %block)
  ret void
try:
  %in = call i1 @enter()
  br i1 %in, label %room, label %drop

; Makes room, one block at a time: a slot that is free, and bytes.
room:
  br label %loop
loop:
  %k = phi i64 [ 0, %room ], [ %next, %loop ]
  %free = phi i64 [ -1, %room ], [ %free_now, %loop ]
  %oldest = phi i64 [ -1, %room ], [ %oldest_now, %loop ]
  %age = phi i64 [ 9223372036854775807, %room ], [ %age_now, %loop ]
  %own_size = getelementptr [64 x %slot], ptr @slots, i64 0, i64 %k, i32 1
  %there = load i64, ptr %own_size
  %is_free = icmp eq i64 %there, 0
  %free_now = select i1 %is_free, i64 %k, i64 %free
  %own_age = getelementptr [64 x %slot], ptr @slots, i64 0, i64 %k, i32 2
  %came = load i64, ptr %own_age
  %is_earlier = icmp slt i64 %came, %age
  %is_used = xor i1 %is_free, true
  %is_oldest = and i1 %is_used, %is_earlier
  %oldest_now = select i1 %is_oldest, i64 %k, i64 %oldest
  %age_now = select i1 %is_oldest, i64 %came, i64 %age
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %judge
judge:
  %held = load i64, ptr @held
  %total = add i64 %held, %size
  %has_bytes = icmp ule i64 %total, %limit
  %has_slot = icmp sge i64 %free_now, 0
  %fits = and i1 %has_bytes, %has_slot
  br i1 %fits, label %put, label %evict
evict:
  call void @evict(i64 %oldest_now)
  br label %room
put:
  %slot = getelementptr [64 x %slot], ptr @slots, i64 0, i64 %free_now
  %now = load i64, ptr @clock
  %later = add i64 %now, 1
  store i64 %later, ptr @clock
  %size_there = getelementptr %slot, ptr %slot, i64 0, i32 1
  %age_there = getelementptr %slot, ptr %slot, i64 0, i32 2
  store ptr %block, ptr %slot
  store i64 %size, ptr %size_there
  store i64 %now, ptr %age_there
  store i64 %total, ptr @held
  call void @leave()
  ret void
}

; Frees the block in a slot, if there is one; the lock is held.
define internal void @evict(i64 %k) {
  %own_block = getelementptr [64 x %slot], ptr @slots, i64 0, i64 %k, i32 0
  %own_size = getelementptr [64 x %slot], ptr @slots, i64 0, i64 %k, i32 1
  %block = load ptr, ptr %own_block
  %is_null = icmp eq ptr %block, null
  br i1 %is_null, label %done, label %free
free:
  %size = load i64, ptr %own_size
  %before = load i64, ptr @held
  %after = sub i64 %before, %size
  store i64 %after, ptr @held
  store ptr null, ptr %own_block
  store i64 0, ptr %own_size
  call void @release(ptr %block)
  br label %done
done:
  ret void
}

define internal void @release(ptr %block) {
  %start_word = getelementptr ptr, ptr %block, i64 -1
  %start = load ptr, ptr %start_word
  %size_word = getelementptr i64, ptr %block, i64 -2
  %size = load i64, ptr %size_word
  %is_mapped = call i1 @is_mapped(i64 %size)
  br i1 %is_mapped, label %own_pages, label %heap
own_pages:
  %unmap = load ptr, ptr @unmap
  %room = add i64 %size, 128
  %ignored = call i32 %unmap(ptr %start, i64 %room)
  ret void
heap:
  call void @NRT_Free(ptr %start)
  ret void
}

; Takes the lock; false if it is not to be had soon.
define internal i1 @enter() {
  br label %try
try:
  %spins = phi i32 [ 0, %0 ], [ %count, %again ]
  %old = atomicrmw xchg ptr @lock, i32 1 acquire
  %was_free = icmp eq i32 %old, 0
  br i1 %was_free, label %yes, label %again
again:
  %count = add i32 %spins, 1
  %goes_on = icmp ult i32 %count, 10000
  br i1 %goes_on, label %try, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal void @leave() {
  store atomic i32 0, ptr @lock release, align 4
  ret void
}
