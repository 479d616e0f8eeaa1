//! Tests of checkpoints, and of files of trees: round trips, faults, failures and killed processes.

use expect_test::{Expect, expect};
use shardwise::prelude::*;
use shardwise::{Limits, npz, safetensors, with_limits};
use shardwise_base::{self as base, file};
use shardwise_files::safetensors::{Index, Tensor, header};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("shardwise-checkpoint-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

type Map = BTreeMap<String, Array>;

#[derive(Tree, Clone)]
struct Layer {
    wq: Array,
    scale: Option<Array>,
}

#[derive(Tree, Clone)]
struct Model {
    embed: Array,
    layers: Vec<Layer>,
    extra: Map,
}

fn model(seed: i32) -> Model {
    let x = |from: usize, shape: [usize; 2]| (arange(from..from + shape[0] * shape[1], F32) + seed).reshape(shape);
    let layer = |i: usize| Layer { wq: x(i, [8, 4]), scale: (i == 1).then(|| full([], seed, I64)) };
    let extra = [("empty".to_string(), zeros([0, 3], F32)), ("ids".to_string(), arange(0..5, I32) * seed)];
    Model { embed: x(100, [10, 4]).astype(BF16), layers: vec![layer(0), layer(1)], extra: extra.into() }
}

#[track_caller]
fn assert_same<T: Tree>(a: &T, b: &T) {
    for ((path, x), (_, y)) in tree::paths(a).into_iter().zip(tree::paths(b)) {
        assert_eq!((x.shape(), x.dtype()), (y.shape(), y.dtype()), "{path}");
        assert_equal(x, y);
    }
}

fn types<T: Tree>(tree: &T) -> T {
    tree::map(tree, |x| Array::of_type(x.shape(), x.dtype()))
}

/// Returns the text of an error, without the path of the folder and the locations, or `no error`.
fn said<T>(result: Result<T>, folder: &Folder) -> String {
    let Err(e) = result else { return "no error\n".into() };
    let text = e.to_string().replace(&folder.0.display().to_string(), "DIR");
    text.lines().filter(|line| !line.starts_with("  -->")).map(|line| format!("{line}\n")).collect()
}

#[track_caller]
fn check<T>(result: Result<T>, folder: &Folder, expected: Expect) {
    expected.assert_eq(&said(result, folder));
}

// ── round trips
/// Returns an array of each element type that can be saved as safetensors, by the names of the types. Those that have
/// no arithmetic are read from a file.
fn of_all_types(folder: &Folder) -> Map {
    let computed = [Bool, I8, I16, I32, I64, U8, U16, U32, U64, BF16, F16, F32, F64, C64];
    let numbers = arange(0..24, F32).reshape([6, 4]);
    let array = |dtype| if dtype == Bool { numbers.gt(11) } else { numbers.astype(dtype) };
    let mut all: Map = computed.into_iter().map(|dtype| (dtype.to_string(), array(dtype))).collect();
    let bytes = [
        base::DType::F8E4M3FN,
        base::DType::F8E5M2,
        base::DType::F8E4M3FNUZ,
        base::DType::F8E5M2FNUZ,
        base::DType::F8E8M0FNU,
    ];
    let tensor = |dtype: base::DType| Tensor { name: dtype.short().into(), dtype, shape: vec![6, 4] };
    let (mut file, order) = header(&bytes.map(tensor));
    file.extend((0..order.len() as u8).flat_map(|i| (0..24).map(move |k| i + k)));
    fs::write(folder.at("bytes"), file).unwrap();
    all.extend(safetensors::load_all(folder.at("bytes")).unwrap());
    fs::remove_file(folder.at("bytes")).unwrap();
    all
}

#[test]
fn every_type_comes_back_on_every_mesh() {
    let folder = Folder::new("types");
    let meshes = [
        (Mesh::auto([("a", 2), ("b", 4)]).unwrap(), vec![P!("a", "b"), P!("b", "a"), P!(("b", "a")), P!()]),
        (Mesh::auto([("a", 8)]).unwrap(), vec![P!("a"), P!(None, "a"), P!()]),
        (Mesh::auto([("a", 4), ("b", 2)]).unwrap(), vec![P!("a", "b"), P!(None, ("a", "b"))]),
        (Mesh::auto([("a", 1)]).unwrap(), vec![P!("a")]),
        (Mesh::auto([("a", 3), ("b", 5)]).unwrap(), vec![P!("a", "b"), P!("b", "a")]),
    ];
    let all = of_all_types(&folder);
    assert_eq!(all.len(), 19);
    for (mesh, specs) in &meshes {
        for spec in specs {
            let placed = tree::map(&all, |x| x.shard(mesh.sharding(spec.clone())));
            checkpoint::save(&placed, &folder.0).unwrap();
            for (mesh, specs) in &meshes {
                for spec in specs {
                    let read = checkpoint::restore_as(&types(&all), mesh.sharding(spec.clone()), &folder.0).unwrap();
                    assert_same(&read, &all);
                    assert_eq!(read["f32"].sharding().unwrap().spec, read["c64"].sharding().unwrap().spec);
                }
            }
            let read = checkpoint::restore(&types(&all), &folder.0).unwrap();
            assert!(read["f32"].sharding().is_none());
            assert_same(&read, &all);
            // In the layouts of the arrays.
            let read = checkpoint::restore(&placed, &folder.0).unwrap();
            assert_eq!(read["f32"].ty(), placed["f32"].ty());
        }
    }
}

#[test]
fn a_tree_comes_back_from_several_files() {
    let folder = Folder::new("several");
    let model = model(3);
    checkpoint::Options::default().max_shard_size(200).save(&model, &folder.0).unwrap();
    let names = [1, 2, 3].map(|i| format!("model-0000{i}-of-00003.safetensors"));
    assert_eq!(folder.names(), [&names[..], &["model.safetensors.index.json".into()]].concat());
    expect![[r#"
        {
          "metadata": {
            "total_size": 364
          },
          "weight_map": {
            "embed": "model-00001-of-00003.safetensors",
            "extra.empty": "model-00003-of-00003.safetensors",
            "extra.ids": "model-00003-of-00003.safetensors",
            "layers.0.wq": "model-00002-of-00003.safetensors",
            "layers.1.scale": "model-00003-of-00003.safetensors",
            "layers.1.wq": "model-00003-of-00003.safetensors"
          }
        }
    "#]]
    .assert_eq(&fs::read_to_string(folder.at("model.safetensors.index.json")).unwrap());
    assert_same(&checkpoint::restore(&types(&model), &folder.0).unwrap(), &model);
    let mut one = BTreeMap::from([("extra.ids".to_string(), Array::of_type([5], I32))]);
    one = checkpoint::Options::default().allow_unused().restore(&one, &folder.0).unwrap();
    assert_eq!(one["extra.ids"].to_vec::<i32>().unwrap(), [0, 3, 6, 9, 12]);
}

#[test]
fn checkpoints_are_replaced_in_any_order() {
    let folder = Folder::new("replaced");
    fs::write(folder.at("config.json"), "{}").unwrap();
    fs::write(folder.at("model-of-mine.safetensors"), "").unwrap();
    fs::write(folder.at(&format!(".shardwise-{}-1.tmp", u32::MAX)), "what a killed process left").unwrap();
    let others = ["config.json", "model-of-mine.safetensors"];
    let sizes = [u64::MAX, 200, 200, 100, 200, u64::MAX, u64::MAX];
    for (seed, size) in sizes.into_iter().enumerate() {
        let model = model(seed as i32);
        checkpoint::Options::default().max_shard_size(size).save(&model, &folder.0).unwrap();
        assert_same(&checkpoint::restore(&types(&model), &folder.0).unwrap(), &model);
        let count = match size {
            100 => 4,
            200 => 3,
            _ => 0,
        };
        let mut names: Vec<String> =
            (0..count).map(|i| format!("model-{:05}-of-{count:05}.safetensors", i + 1)).collect();
        names.push(if count == 0 { "model.safetensors" } else { "model.safetensors.index.json" }.into());
        names.extend(others.map(String::from));
        names.sort();
        assert_eq!(folder.names(), names, "{size}");
    }
}

#[test]
fn sums_and_arrays_that_are_not_made_yet_are_saved() {
    let folder = Folder::new("sums");
    let mesh = Mesh::explicit([("x", 4)]).unwrap();
    let x = arange(0..8, F32).shard(mesh.sharding(P!("x")));
    let sum = jit(|x: &Array| x.sum(0)).out_shardings(mesh.sharding(P!().unreduced("x")))(&x).unwrap();
    assert_eq!(sum.ty().to_string(), "f32[]{U:x}");
    let pair = (sum, zeros([4], I8));
    checkpoint::save(&pair, &folder.0).unwrap();
    let read = checkpoint::restore(&pair, &folder.0).unwrap();
    assert_eq!(read.0.ty(), pair.0.ty());
    assert_eq!((read.0.item::<f32>().unwrap(), read.1.to_vec::<i8>().unwrap()), (28.0, vec![0; 4]));
}

#[test]
fn trees_come_back_from_single_files() {
    let folder = Folder::new("single");
    let (model, mesh) = (model(5), Mesh::auto([("x", 4)]).unwrap());
    let placed = tree::map(&model, |x| if x.rank() == 2 { x.shard(mesh.sharding(P!(None, "x"))) } else { x.clone() });
    safetensors::save(&placed, folder.at("a.safetensors")).unwrap();
    assert_same(&safetensors::load(&placed, folder.at("a.safetensors")).unwrap(), &model);
    let all = safetensors::load_all(folder.at("a.safetensors")).unwrap();
    let names = ["embed", "extra.empty", "extra.ids", "layers.0.wq", "layers.1.scale", "layers.1.wq"];
    assert!(all.keys().eq(names));
    assert_equal(&all["embed"], &model.embed);
    npz::save(&placed, folder.at("a.npz")).unwrap();
    assert_same(&npz::load(&placed, folder.at("a.npz")).unwrap(), &model);
    let pair = (arange(0..8, I8), ones([2], C128));
    npz::save(&pair, folder.at("a.npz")).unwrap();
    assert_same(&npz::load(&types(&pair), folder.at("a.npz")).unwrap(), &pair);
    // Integers of four bits are whole bytes in a file.
    let small = npz::load(&(Array::of_type([8], I4), pair.1.clone()), folder.at("a.npz")).unwrap();
    npz::save(&small, folder.at("a.npz")).unwrap();
    assert_same(&npz::load(&types(&pair), folder.at("a.npz")).unwrap(), &pair);
    let narrow = npz::load(&(Array::of_type([8], I2), pair.1), folder.at("a.npz"));
    assert!(said(narrow, &folder).contains("`0`: i2[8], byte 2 at [2]"));
    safetensors::save(&arange(0..3, I32), folder.at("a.safetensors")).unwrap();
    assert!(safetensors::load_all(folder.at("a.safetensors")).unwrap().keys().eq(["value"]));
}

#[test]
fn a_checkpoint_is_saved_in_the_background() {
    let folder = Folder::new("background");
    let x = ones([1000], F32);
    let saving = checkpoint::save_in_background(&x, &folder.0).unwrap();
    assert_eq!(saving.folder(), folder.0);
    let halved = jit(|x: Array| x * 0.5)(x).unwrap();
    saving.wait().unwrap();
    assert_eq!(halved.sum(0).item::<f32>().unwrap(), 500.0);
    let read = checkpoint::restore(&Array::of_type([1000], F32), &folder.0).unwrap();
    assert_eq!(read.sum(0).item::<f32>().unwrap(), 1000.0);
    fs::write(folder.at("file"), "").unwrap();
    let failed = checkpoint::save_in_background(&read, folder.at("file")).unwrap().wait();
    assert!(said(failed, &folder).starts_with("error[file-unwritable]: cannot write DIR/file: "));
    // The limits of the thread that saves also hold in the background.
    read.ready().unwrap();
    let small = Limits::default().max_bytes(100);
    let failed = with_limits(small, || checkpoint::save_in_background(&read, &folder.0).unwrap().wait());
    assert!(said(failed, &folder).starts_with("error[run-memory]"));
    assert_same(&checkpoint::restore(&types(&read), &folder.0).unwrap(), &read);
}

// ── faults
fn changed(change: impl FnOnce(&mut Model)) -> Model {
    let mut types = types(&model(0));
    change(&mut types);
    types
}

#[test]
fn leaves_that_cannot_be_saved_are_listed() {
    let folder = Folder::new("unsaved");
    let x = zeros([2], F32);
    let leaves = BTreeMap::from([
        ("a".to_string(), ones([3], C128)),
        ("b".to_string(), ones([2], C128)),
        ("c".to_string(), x.clone()),
        ("d".to_string(), Array::of_type([2], F32)),
        ("e".to_string(), &x + zeros([3], F32)),
    ]);
    check(
        checkpoint::save(&leaves, &folder.0),
        &folder,
        expect![[r#"
            error[leaf-dtype]: these leaves have element types that cannot be saved in the format safetensors
               | `a`: c128[3]
               | `b`: c128[2]
               = help: convert them first: c128 with `.astype(C64)`
            error[leaf-value]: leaves of the tree have no value that can be saved
               | `d`
               | `e`
               = note: the reasons follow
            error[no-value]: the array is only a type and has no value
               | f32[2]
               = help: use it to compute types or to lower a program; for values, use `zeros`, `array`, `Array::from_parts`, …
            error[broadcast]: `add`: the arrays cannot be broadcast together
               | f32[2] and f32[3]
               = expected: sizes that are equal or 1, compared from the last dimension
        "#]],
    );
    let twice = BTreeMap::from([
        ("a".to_string(), BTreeMap::from([("b.c".to_string(), x.clone())])),
        ("a.b".to_string(), BTreeMap::from([("c".to_string(), x.clone())])),
    ]);
    check(
        checkpoint::save(&twice, &folder.0),
        &folder,
        expect![[r#"
        error[leaf-name]: leaves of the tree have equal names, or a reserved name
           | `a.b.c`
           = help: a name is the path in the tree with dots: rename a key or a field; safetensors reserves `__metadata__`
    "#]],
    );
    let reserved = BTreeMap::from([("__metadata__".to_string(), x.clone())]);
    assert!(said(checkpoint::save(&reserved, &folder.0), &folder).contains("leaf-name"));
    assert!(folder.names().is_empty());
}

#[test]
fn every_leaf_at_fault_is_listed() {
    let folder = Folder::new("faults");
    let options = checkpoint::Options::default().max_shard_size(200);
    options.save(&model(0), &folder.0).unwrap();
    let wrong = changed(|m| {
        m.embed = Array::of_type([10, 4], F16);
        m.layers[0].wq = Array::of_type([4, 8], F32);
        m.layers[1].wq = Array::of_type([8, 4], F64);
        m.layers[1].scale = None;
        let ids = m.extra.remove("ids").unwrap();
        m.extra.insert("idx".into(), ids);
        m.extra.insert("other".into(), Array::of_type([], F32));
    });
    check(
        checkpoint::restore(&wrong, &folder.0),
        &folder,
        expect![[r#"
            error[tensor-missing]: DIR has no tensors for 2 leaves
               | `extra.idx`: i32[5]; did you mean `extra.ids`?
               | `extra.other`: f32[]
               = help: a leaf is read from the tensor of its name, which is its path in the tree with dots
            error[tensor-dtype]: DIR has 2 tensors of another element type than asked for, or of an unknown one
               | `embed`: f16[10,4], found bf16
               | `layers.1.wq`: f64[8,4], found f32
               = help: ask for the type in the file, and convert the array with `.astype(..)`; an unknown type cannot be read
            error[tensor-shape]: DIR has 1 tensor of another shape than asked for
               | `layers.0.wq`: f32[4,8], found the shape [8, 4]
            error[tensor-unused]: DIR has 2 tensors that the tree does not have
               | `extra.ids`
               | `layers.1.scale`
               = help: add leaves of these names; a whole safetensors file is read with `safetensors::load_all`, and a part of a checkpoint's folder with `checkpoint::Options::allow_unused`
        "#]],
    );
    npz::save(&model(0), folder.at("a.npz")).unwrap();
    check(
        npz::load(&wrong, folder.at("a.npz")),
        &folder,
        expect![[r#"
            error[tensor-missing]: DIR/a.npz has no tensors for 2 leaves
               | `extra.idx`: i32[5]; did you mean `extra.ids`?
               | `extra.other`: f32[]
               = help: a leaf is read from the tensor of its name, which is its path in the tree with dots
            error[tensor-dtype]: DIR/a.npz has 2 tensors of another element type than asked for, or of an unknown one
               | `embed`: f16[10,4] (f2), found <V2
               | `layers.1.wq`: f64[8,4] (f8), found <f4
               = help: ask for the type in the file, and convert the array with `.astype(..)`; an unknown type cannot be read
            error[tensor-shape]: DIR/a.npz has 1 tensor of another shape than asked for
               | `layers.0.wq`: f32[4,8], found the shape [8, 4]
            error[tensor-unused]: DIR/a.npz has 2 tensors that the tree does not have
               | `layers.1.scale`
               | `extra.ids`
               = help: add leaves of these names
        "#]],
    );
}

fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn damaged_files_are_named_with_their_leaves() {
    let folder = Folder::new("damaged");
    let model = model(0);
    let restore = || checkpoint::restore(&types(&model), &folder.0);
    check(
        restore(),
        &folder,
        expect![[r#"
        error[checkpoint-missing]: there is no checkpoint in DIR
           = expected: a file `model.safetensors.index.json` or `model.safetensors`
    "#]],
    );
    let options = checkpoint::Options::default().max_shard_size(200);
    let shard = |i: usize| folder.at(&format!("model-0000{i}-of-00003.safetensors"));
    options.save(&model, &folder.0).unwrap();
    fs::remove_file(shard(1)).unwrap();
    rewrite(&shard(2), |bytes| bytes.truncate(20));
    rewrite(&shard(3), |bytes| bytes.truncate(bytes.len() - 30));
    check(
        restore(),
        &folder,
        expect![[r#"
            error[file-unreadable]: cannot read DIR/model-00001-of-00003.safetensors: it does not exist
               | `embed` is in it
            error[file-unreadable]: cannot read DIR/model-00002-of-00003.safetensors: its header has 104 bytes, where at most 12 are allowed in a file of 20 bytes
               | `layers.0.wq` is in it
            error[tensor-truncated]: the data of 2 tensors is cut off in DIR
               | `layers.1.wq`: f32[8,4] in model-00003-of-00003.safetensors
               | `extra.ids`: i32[5] in model-00003-of-00003.safetensors
               = help: the file was not written or copied completely: write it again
        "#]],
    );
    options.save(&model, &folder.0).unwrap();
    rewrite(&shard(3), |bytes| bytes.truncate(bytes.len() - 30));
    check(
        restore(),
        &folder,
        expect![[r#"
            error[tensor-truncated]: the data of 2 tensors is cut off in DIR
               | `layers.1.wq`: f32[8,4] in model-00003-of-00003.safetensors
               | `extra.ids`: i32[5] in model-00003-of-00003.safetensors
               = help: the file was not written or copied completely: write it again
        "#]],
    );
    options.save(&model, &folder.0).unwrap();
    fs::copy(shard(2), shard(1)).unwrap();
    check(
        restore(),
        &folder,
        expect![[r#"
            error[tensor-missing]: DIR has no tensors for 1 leaf
               | `embed`: bf16[10,4]; model-00001-of-00003.safetensors has no such tensor
               = help: a leaf is read from the tensor of its name, which is its path in the tree with dots
        "#]],
    );
    let index = folder.at("model.safetensors.index.json");
    rewrite(&index, |bytes| *bytes = String::from_utf8(bytes.clone()).unwrap().replace("model-00001", "../x").into());
    check(
        restore(),
        &folder,
        expect![[r#"
        error[file-unreadable]: cannot read DIR/model.safetensors.index.json: it names the file "../x-of-00003.safetensors", which is not the name of a file in its folder
    "#]],
    );
    rewrite(&index, |bytes| bytes.truncate(50));
    check(
        restore(),
        &folder,
        expect![[r#"
        error[file-unreadable]: cannot read DIR/model.safetensors.index.json: EOF while parsing a string at line 5 column 5
    "#]],
    );
    let flags = BTreeMap::from([("a".to_string(), ones([3, 2], Bool)), ("b".to_string(), ones([3], Bool))]);
    safetensors::save(&flags, folder.at("a.safetensors")).unwrap();
    rewrite(&folder.at("a.safetensors"), |bytes| {
        let end = bytes.len();
        bytes[end - 9..].copy_from_slice(&[1, 0, 1, 1, 7, 1, 9, 1, 1]);
    });
    check(
        safetensors::load_all(folder.at("a.safetensors")),
        &folder,
        expect![[r#"
            error[tensor-element]: DIR/a.safetensors has 2 tensors with bytes that are no values of the element type
               | `a`: bool[3,2], byte 7 at [2, 0]
               | `b`: bool[3], byte 9 at [0]
               = help: the byte of a boolean is 0 or 1, and that of another type of fewer than 8 bits is in the range of the type
        "#]],
    );
}

#[test]
fn sizes_in_a_file_are_not_trusted() {
    let folder = Folder::new("sizes");
    let header = r#"{"a":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 64]].concat();
    fs::write(folder.at("a.safetensors"), bytes).unwrap();
    let small = Limits::default().max_bytes(1 << 20);
    let read = with_limits(small, || safetensors::load_all(folder.at("a.safetensors")));
    assert!(said(read, &folder).starts_with("error[tensor-truncated]"));
}

#[test]
fn types_that_cannot_be_read_are_named() {
    let folder = Folder::new("unknown_types");
    let header =
        r#"{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 4]].concat();
    fs::write(folder.at("a.safetensors"), bytes).unwrap();
    check(
        safetensors::load_all(folder.at("a.safetensors")),
        &folder,
        expect![[r#"
            error[tensor-dtype]: DIR/a.safetensors has 1 tensor of a type that cannot be read
               | `a`: F4
               = help: convert them to another type where the file is written
        "#]],
    );
}

// ── failures
#[test]
fn every_failure_leaves_the_old_checkpoint() {
    let folder = Folder::new("failures");
    for (old_size, new_size) in [(u64::MAX, u64::MAX), (u64::MAX, 200), (200, 200), (200, 100), (200, u64::MAX)] {
        let (old, new) = (model(1), model(2));
        checkpoint::Options::default().max_shard_size(old_size).save(&old, &folder.0).unwrap();
        let before = folder.names();
        let mut failures = 0;
        for n in 1.. {
            file::fail_at(n);
            let saved = checkpoint::Options::default().max_shard_size(new_size).save(&new, &folder.0);
            let left = file::fail_at(0);
            let read = checkpoint::restore(&types(&old), &folder.0).unwrap();
            if saved.is_ok() {
                assert_same(&read, &new);
                if left > 0 {
                    break;
                }
                // What failed was only giving the files their usual names.
                checkpoint::Options::default().max_shard_size(old_size).save(&old, &folder.0).unwrap();
                continue;
            }
            failures += 1;
            assert_same(&read, &old);
            assert_eq!(folder.names(), before);
            assert!(said(saved, &folder).starts_with("error[file-unwritable]"));
        }
        assert!(failures >= 3, "a write, a synchronisation and a renaming have failed");
    }
}

/// Tests a folder with the index of another program that refers to `model.safetensors`. A new index decides then, so
/// that the old one is never there together with the new file.
#[test]
fn an_index_may_refer_to_the_single_file() {
    let folder = Folder::new("foreign");
    let (old, new) = (model(1), model(2));
    let files = tree::paths(&old).iter().map(|(path, _)| (path.name(), "model.safetensors".to_string())).collect();
    let index = Index { weight_map: files, ..Index::default() };
    let mut failures = 0;
    for n in 1.. {
        checkpoint::save(&old, &folder.0).unwrap();
        fs::write(folder.at("model.safetensors.index.json"), index.text()).unwrap();
        let before = folder.names();
        file::fail_at(n);
        let saved = checkpoint::save(&new, &folder.0);
        file::fail_at(0);
        let read = checkpoint::restore(&types(&old), &folder.0).unwrap();
        if saved.is_ok() {
            assert_same(&read, &new);
            break;
        }
        failures += 1;
        assert_same(&read, &old);
        assert_eq!(folder.names(), before);
    }
    assert!(failures >= 6, "a write, a synchronisation and a renaming of the file and of the index have failed");
    assert_eq!(folder.names(), ["model.safetensors"]);
}

#[test]
fn running_out_of_memory_leaves_the_old_checkpoint() {
    let folder = Folder::new("memory");
    let options = checkpoint::Options::default().max_shard_size(200);
    let (old, new) = (model(1), model(2));
    options.save(&old, &folder.0).unwrap();
    tree::leaves(&new).into_iter().for_each(|x| assert!(x.ready().is_ok()));
    let (before, small) = (folder.names(), Limits::default().max_bytes(100));
    let saved = with_limits(small.clone(), || options.save(&new, &folder.0));
    assert!(said(saved, &folder).starts_with("error[run-memory]"));
    assert_eq!(folder.names(), before);
    assert_same(&checkpoint::restore(&types(&old), &folder.0).unwrap(), &old);
    let read = with_limits(small, || checkpoint::restore(&types(&old), &folder.0));
    assert!(said(read, &folder).starts_with("error[run-memory]"));
}

/// The environment variable with the folder to which a child process saves. Such a process runs only the next test.
const CHILD: &str = "SHARDWISE_TEST_CHECKPOINT";

fn version(version: i32) -> Vec<Array> {
    (0..20).map(|_| full([5000], version, I32)).collect()
}

/// Saves one version after the other, until the process is killed. Does nothing unless the environment variable
/// [`CHILD`] is set: another test starts this one as a child process.
#[test]
fn a_child_process_saves_until_it_is_killed() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    for n in 1.. {
        // Checkpoints of one file and of several take turns.
        let size = if n % 3 == 0 { u64::MAX } else { 50_000 };
        checkpoint::Options::default().max_shard_size(size).save(&version(n), &folder).unwrap();
        eprintln!("saved {n}");
    }
}

#[test]
fn a_killed_process_leaves_a_whole_checkpoint() {
    let folder = Folder::new("killed");
    let mut last = 0;
    for round in 0..15 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "checkpoint::a_child_process_saves_until_it_is_killed", "--nocapture"])
            .env(CHILD, &folder.0)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
        let mut saves = lines.filter(|line| line.starts_with("saved "));
        let saved = saves.nth(1 + round % 3).unwrap();
        // The child goes on saving, and is killed when it has come as far as one of these files.
        let file = ["", ".tmp", "model-00002", "model.new-00001", "model.new-00009"][round % 5];
        while !folder.names().iter().any(|name| name.contains(file)) && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        let read = checkpoint::restore(&types(&version(0)), &folder.0).unwrap();
        let first = read[0].i(0).item::<i32>().unwrap();
        assert_same(&read, &version(first));
        last = saved["saved ".len()..].parse::<i32>().unwrap();
        assert!(first >= last, "{first} is older than {saved}");
    }
    checkpoint::save(&version(last), &folder.0).unwrap();
    assert_eq!(folder.names(), ["model.safetensors"]);
}

#[test]
fn what_is_read_while_it_is_replaced_is_one_checkpoint() {
    let folder = Folder::new("readers");
    let save = |n: i32| {
        let size = if n % 3 == 0 { u64::MAX } else { 50_000 };
        checkpoint::Options::default().max_shard_size(size).save(&version(n), &folder.0).unwrap();
    };
    save(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..40).for_each(save));
        while !writer.is_finished() {
            let read = checkpoint::restore(&types(&version(0)), &folder.0).unwrap();
            assert_same(&read, &version(read[0].i(0).item::<i32>().unwrap()));
        }
    });
}
