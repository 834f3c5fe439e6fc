;; Looks at everything that it was given for a mark that another left there, and leaves its own.
;;
;; Written between dollars: its size. The first memory is laid out so: 0 the reply, 1024 what the host hands over,
;; 32768 the image, which it begins with; all else begins as zero.
(module
  (memory $first (export "memory") $PAGES)
  (memory $second 1)
  (data (memory $first) (i32.const 32768) "$IMAGE")
  (table $table $ELEMENTS funcref)
  (elem declare func $mark_table)
  (global $global (mut i64) (i64.const 0))
  (global $free (mut i32) (i32.const 1024))

  ;; A bump allocator: an instance serves one call.
  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
    (global.set $free (i32.add (local.get $at) (local.get $size)))
    (if (i32.gt_u (global.get $free) (i32.const 32768)) (then unreachable))
    (local.get $at))

  (func (export "airlock:plugin/tools@0.1.0#describe") (result i32) unreachable)

  ;; The input is digits: how often it looks, and which kinds of marks it leaves, one bit each.
  (func (export "airlock:plugin/tools@0.1.0#call") (param $arguments i32) (result i32)
    (local $input i32) (local $rounds i32) (local $kinds i32)
    (local.set $input (i32.load $first offset=8 (local.get $arguments)))
    (local.set $rounds (i32.sub (i32.load8_u $first (local.get $input)) (i32.const 48)))
    (local.set $kinds (i32.sub (i32.load8_u $first offset=1 (local.get $input)) (i32.const 48)))
    (call $look_first (i32.const 64) (i32.const 0) (i32.const 1024) (i64.const 0))
    (loop $again
      (call $look)
      (call $mark (local.get $kinds))
      (local.set $rounds (i32.sub (local.get $rounds) (i32.const 1)))
      (br_if $again (local.get $rounds)))
    (call $reply))

  ;; Looks at all places in turn. What it finds stands in the reply.
  (func $look
    (local $end i32)
    (call $look_first (i32.const 65)
      (i32.and (i32.add (global.get $free) (i32.const 63)) (i32.const -64)) (i32.const 32768) (i64.const 0))
    (call $look_first (i32.const 66) (i32.const 32768) (i32.const 36864) (i64.const 0x1111111111111111))
    (local.set $end (i32.shl (memory.size $first) (i32.const 16)))
    (call $look_first (i32.const 67) (i32.const 36864) (local.get $end) (i64.const 0))
    (if (i32.eq (memory.grow $first (i32.const $GROWTH)) (i32.const -1)) (then unreachable))
    (call $look_first (i32.const 68)
      (local.get $end) (i32.shl (memory.size $first) (i32.const 16)) (i64.const 0))
    (call $look_second (i32.shl (memory.size $second) (i32.const 16)))
    (if (i32.eq (table.grow $table (ref.null func) (i32.const 16)) (i32.const -1)) (then unreachable))
    (call $look_table)
    (if (i64.ne (global.get $global) (i64.const 0)) (then (call $found (i32.const 71) (i32.const 0)))))

  (func $look_first (param $place i32) (param $from i32) (param $to i32) (param $wanted i64)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $to)))
        (if (i64.ne (i64.const 0)
              (i64.or
                (i64.or
                  (i64.or (i64.xor (i64.load $first (local.get $from)) (local.get $wanted))
                          (i64.xor (i64.load $first offset=8 (local.get $from)) (local.get $wanted)))
                  (i64.or (i64.xor (i64.load $first offset=16 (local.get $from)) (local.get $wanted))
                          (i64.xor (i64.load $first offset=24 (local.get $from)) (local.get $wanted))))
                (i64.or
                  (i64.or (i64.xor (i64.load $first offset=32 (local.get $from)) (local.get $wanted))
                          (i64.xor (i64.load $first offset=40 (local.get $from)) (local.get $wanted)))
                  (i64.or (i64.xor (i64.load $first offset=48 (local.get $from)) (local.get $wanted))
                          (i64.xor (i64.load $first offset=56 (local.get $from)) (local.get $wanted))))))
          (then
            (call $found (local.get $place) (local.get $from))
            (br $done)))
        (local.set $from (i32.add (local.get $from) (i32.const 64)))
        (br $next))))

  (func $look_second (param $to i32)
    (local $from i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $to)))
        (if (i64.ne (i64.const 0)
              (i64.or
                (i64.or (i64.load $second (local.get $from)) (i64.load $second offset=8 (local.get $from)))
                (i64.or (i64.load $second offset=16 (local.get $from)) (i64.load $second offset=24 (local.get $from)))))
          (then
            (call $found (i32.const 69) (local.get $from))
            (br $done)))
        (local.set $from (i32.add (local.get $from) (i32.const 32)))
        (br $next))))

  (func $look_table
    (local $at i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (table.size $table)))
        (if (i32.eqz (ref.is_null (table.get $table (local.get $at))))
          (then
            (call $found (i32.const 70) (local.get $at))
            (br $done)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next))))

  ;; Leaves marks of these kinds: 1 memory, 2 the image, 4 the second memory, 8 the table, 16 the global; 31 all.
  (func $mark (param $kinds i32)
    (if (i32.and (local.get $kinds) (i32.const 1))
      (then
        (memory.fill $first (global.get $free) (i32.const $MARK) (i32.sub (i32.const 32768) (global.get $free)))
        (memory.fill $first (i32.const 36864) (i32.const $MARK)
          (i32.sub (i32.shl (memory.size $first) (i32.const 16)) (i32.const 36864)))))
    (if (i32.and (local.get $kinds) (i32.const 2))
      (then (memory.fill $first (i32.const 32768) (i32.const $MARK) (i32.const 4096))))
    (if (i32.and (local.get $kinds) (i32.const 4))
      (then (memory.fill $second (i32.const 0) (i32.const $MARK) (i32.const 65536))))
    (if (i32.and (local.get $kinds) (i32.const 8))
      (then (table.fill $table (i32.const 0) (ref.func $mark_table) (table.size $table))))
    (if (i32.and (local.get $kinds) (i32.const 16))
      (then (global.set $global (i64.const $MARK)))))

  ;; What tables are marked with; nobody calls it.
  (func $mark_table unreachable)

  ;; Writes the place, a letter and eight digits, unless one stands there: the first is told.
  (func $found (param $place i32) (param $address i32)
    (local $at i32) (local $digit i32)
    (if (i32.load8_u $first (i32.const 512)) (then return))
    (i32.store8 $first (i32.const 512) (local.get $place))
    (local.set $at (i32.const 8))
    (loop $next
      (local.set $digit (i32.and (local.get $address) (i32.const 15)))
      (i32.store8 $first offset=512 (local.get $at)
        (i32.add (local.get $digit)
          (select (i32.const 48) (i32.const 87) (i32.lt_u (local.get $digit) (i32.const 10)))))
      (local.set $address (i32.shr_u (local.get $address) (i32.const 4)))
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (br_if $next (local.get $at))))

  ;; The reply: its data is what was found, and empty where nothing was.
  (func $reply (result i32)
    (memory.fill $first (i32.const 0) (i32.const 0) (i32.const 64))
    (i32.store $first (i32.const 4) (i32.const 512))
    (if (i32.load8_u $first (i32.const 512)) (then (i32.store $first (i32.const 8) (i32.const 9))))
    (i32.const 0)))
