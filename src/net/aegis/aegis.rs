// SPDX-License-Identifier: Apache-2.0
//! The functions that aegis.hpp declares. Whoever calls vouches for the pointers; sizes are checked here at compile time.
#![no_std]
#![allow(clippy::missing_safety_doc)] // said once, above

use aegis::aegis128l::{self, Aegis128L, Aegis128LMac};
use aegis::aegis128x4::{self, Aegis128X4, Aegis128X4Mac};
use core::{mem, ptr, slice};

const TAG: usize = 16;
type Keys = [[u8; 16]; 2];
type Tag = [u8; TAG];

#[allow(clippy::large_enum_variant)]
pub enum Encryption {
    Short(aegis128l::Encryptor<TAG>),
    Long(aegis128x4::Encryptor<TAG>),
}

const _: () = {
    assert!(mem::size_of::<Aegis128LMac<TAG>>() <= 384 && mem::align_of::<Aegis128LMac<TAG>>() <= 64);
    assert!(mem::size_of::<Aegis128X4Mac<TAG>>() <= 1344 && mem::align_of::<Aegis128X4Mac<TAG>>() <= 64);
    assert!(mem::size_of::<Encryption>() <= 1088 && mem::align_of::<Encryption>() <= 64);
};

// An empty piece may have a null pointer, a slice may not.
unsafe fn bytes<'a>(data: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        &[]
    } else {
        slice::from_raw_parts(data, bytes)
    }
}

unsafe fn bytes_mut<'a>(data: *mut u8, bytes: usize) -> &'a mut [u8] {
    if bytes == 0 {
        &mut []
    } else {
        slice::from_raw_parts_mut(data, bytes)
    }
}

macro_rules! mac_functions {
    ($mac:ty, $make:ident, $add:ident, $finish:ident) => {
        #[no_mangle]
        pub unsafe extern "C" fn $make(mac: *mut $mac, key: &[u8; 16]) {
            mac.write(<$mac>::new(key));
        }

        #[no_mangle]
        pub unsafe extern "C" fn $add(mac: &mut $mac, data: *const u8, n: usize) {
            mac.update(bytes(data, n));
        }

        #[no_mangle]
        pub extern "C" fn $finish(mac: &mut $mac, tag: &mut Tag) {
            *tag = mac.finalize_and_reset();
        }
    };
}

mac_functions!(
    Aegis128LMac<TAG>,
    onesea_aegis_short_mac_make,
    onesea_aegis_short_mac_add,
    onesea_aegis_short_mac_finish
);
mac_functions!(
    Aegis128X4Mac<TAG>,
    onesea_aegis_long_mac_make,
    onesea_aegis_long_mac_add,
    onesea_aegis_long_mac_finish
);

#[no_mangle]
pub unsafe extern "C" fn onesea_aegis_encrypt_begin(
    encryption: *mut Encryption,
    keys: &Keys,
    long: bool,
    nonce: &[u8; 16],
    head: *const u8,
    head_bytes: usize,
) {
    let head = bytes(head, head_bytes);
    encryption.write(if long {
        Encryption::Long(Aegis128X4::new(&keys[1], nonce).encryptor(head))
    } else {
        Encryption::Short(Aegis128L::new(&keys[0], nonce).encryptor(head))
    });
}

#[no_mangle]
pub unsafe extern "C" fn onesea_aegis_encrypt(
    keys: &Keys,
    long: bool,
    nonce: &[u8; 16],
    head: *const u8,
    head_bytes: usize,
    text: *mut u8,
    n: usize,
    tag: &mut Tag,
) {
    let head = bytes(head, head_bytes);
    let text = bytes_mut(text, n);
    *tag = if long {
        Aegis128X4::new(&keys[1], nonce).encrypt_in_place(text, head)
    } else {
        Aegis128L::new(&keys[0], nonce).encrypt_in_place(text, head)
    };
}

// In place where `to` is `data`; else the two must not overlap.
#[no_mangle]
pub unsafe extern "C" fn onesea_aegis_encrypt_add(encryption: &mut Encryption, data: *const u8, n: usize, to: *mut u8) {
    if n == 0 {
        return;
    }
    let to_bytes = slice::from_raw_parts_mut(to, n);
    if ptr::eq(data, to) {
        match encryption {
            Encryption::Short(e) => e.update_in_place(to_bytes),
            Encryption::Long(e) => e.update_in_place(to_bytes),
        }
    } else {
        match encryption {
            Encryption::Short(e) => e.update(bytes(data, n), to_bytes),
            Encryption::Long(e) => e.update(bytes(data, n), to_bytes),
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn onesea_aegis_encrypt_finish(encryption: *mut Encryption, tag: &mut Tag) {
    *tag = match encryption.read() {
        Encryption::Short(e) => e.finalize(),
        Encryption::Long(e) => e.finalize(),
    };
}

#[no_mangle]
pub unsafe extern "C" fn onesea_aegis_decrypt(
    keys: &Keys,
    long: bool,
    nonce: &[u8; 16],
    head: *const u8,
    head_bytes: usize,
    text: *mut u8,
    n: usize,
    tag: &Tag,
) -> bool {
    let head = bytes(head, head_bytes);
    let text = bytes_mut(text, n);
    if long {
        Aegis128X4::new(&keys[1], nonce)
            .decrypt_in_place(text, tag, head)
            .is_ok()
    } else {
        Aegis128L::new(&keys[0], nonce)
            .decrypt_in_place(text, tag, head)
            .is_ok()
    }
}

extern "C" {
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { abort() }
}
