//! Tests of the bytes that are read, and of the memory that is taken.

use super::*;
use crate::prelude::*;
use crate::tensors::wanted;
use crate::{Limits, memory, reset_peak_memory, with_limits};
use std::fs;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("shardwise-checkpoint-unit-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

fn weights(layouts: &[P]) -> Vec<Array> {
    let new = |i: usize| (arange(0..1 << 14, F32) + i as f32).reshape([128, 128]).shard(&layouts[i % layouts.len()]);
    (0..24).map(new).collect()
}

#[test]
fn each_byte_is_read_once() {
    let folder = folder("bytes");
    let options = Options::default().max_shard_size(1 << 19);
    with_mesh(Mesh::auto([("x", 2), ("y", 4)]).unwrap(), || {
        options.save(&weights(&[P!("x", "y"), P!(("y", "x")), P!()]), &folder).unwrap();
    });
    let all = 24 << 16;
    let read = |like: &Vec<Array>, unused: Unused| {
        let (at, loc) = (Location::caller(), Loc::UNKNOWN);
        let wanted = wanted(like, Format::Safetensors, at).unwrap();
        let mut store = folder::open(&folder, &wanted, unused, &loc).unwrap();
        let arrays = store.read(&wanted, unused, &loc).unwrap();
        assert_eq!(arrays.len(), like.len());
        store.bytes_read() as f64
    };
    with_mesh(Mesh::auto([("z", 8)]).unwrap(), || {
        for layouts in [vec![P!(None, "z")], vec![P!("z"), P!()], vec![P!()]] {
            let bytes = read(&weights(&layouts), Unused::Refused);
            assert!(bytes <= 1.05 * f64::from(all), "{bytes} of {all}");
        }
        // Part of the tree: the files of the others are not opened.
        let bytes = read(&weights(&[P!("z")])[..8].to_vec(), Unused::Allowed);
        assert!(bytes <= 1.05 * f64::from(all / 3), "{bytes} of {}", all / 3);
    });
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn little_memory_is_taken_besides_the_arrays() {
    let folder = folder("memory");
    let mesh = Mesh::auto([("x", 8)]).unwrap();
    with_limits(Limits::default(), || {
        // 128 MiB: its rows are split over the devices, so that no piece of it is in one shard.
        let large = zeros([1 << 14, 1 << 11], F32).shard(mesh.sharding(P!(None, "x")));
        large.ready().unwrap();
        reset_peak_memory();
        let before = memory().in_use;
        save(&large, &folder).unwrap();
        assert!(memory().peak_bytes - before <= 64 << 20, "{}", memory());
        let types = Array::of_type([1 << 14, 1 << 11], F32);
        large.delete();
        reset_peak_memory();
        let before = memory().in_use;
        let read = restore_as(&types, mesh.sharding(P!("x")), &folder).unwrap();
        read.ready().unwrap();
        assert!(memory().peak_bytes - before <= (128 + 64) << 20, "{}", memory());
    });
    fs::remove_dir_all(folder).unwrap();
}
