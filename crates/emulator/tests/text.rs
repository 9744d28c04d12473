//! Instructions as text.

use wirelab_emulator::disassemble;

#[test]
fn instructions_read_as_in_arms_manual() {
    for (code, expected) in [
        (0x3b02_f831, "ldrh r3, [r1], #2"),
        (0x3f02_f820, "strh r3, [r0, #2]!"),
        (0x0000_428a, "cmp r2, r1"),
        (0x0000_d8f9, "bhi 0x10000be6"),
        (0x0000_3802, "subs r0, r0, #2"),
        (0x0201_f022, "bic r2, r2, #1"),
        (0x0000_4770, "bx lr"),
        (0x0000_b570, "push {r4, r5, r6, lr}"),
        (0x0000_bd10, "pop {r4, pc}"),
        (0x0000_bf4c, "ite mi"),
        (0x0000_bf02, "ittt eq"),
        (0x00c5_ea80, "eor r0, r0, r5, lsl #3"),
        (0x1006_f3c5, "ubfx r0, r5, #4, #7"),
        (0xf007_e8df, "tbb [pc, r7]"),
        (0x0605_fba5, "umull r0, r6, r5, r5"),
        (0x6700_e9d1, "ldrd r6, r7, [r1]"),
        (0x0000_0080, "lsls r0, r0, #2"),
        (0x0000_4802, "ldr r0, [pc, #8] (0x10000bfc)"),
        (0x0000_de00, "undefined"),
    ] {
        let (text, bytes) = disassemble(0x1000_0bf0, code);
        assert_eq!(text, expected);
        assert_eq!(bytes, if code & 0xffff >= 0xe800 { 4 } else { 2 });
    }
}

#[test]
fn all_codes_have_a_text() {
    for code in (0..u32::MAX).step_by(65_537 * 3 + 2) {
        assert!(!disassemble(0, code).0.is_empty(), "{code:#x}");
        assert!(!disassemble(0, code | 0xe800).0.is_empty(), "{code:#x}");
    }
}
