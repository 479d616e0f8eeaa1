use super::*;
use crate::Torus;
use expect_test::{Expect, expect};
use shardwise_base::{AxisRef, Mesh};
use std::sync::Arc;

type Axes<'a> = &'a [&'a str];

/// Returns the axes that a list such as `X`, `Y:1:2` (the sub-axis `(1)2`) names.
fn axes(mesh: &Mesh, names: Axes<'_>) -> Vec<AxisRef> {
    let axis = |name: &&str| {
        let parts: Vec<&str> = name.split(':').collect();
        let axis = mesh.axis(parts[0]).unwrap();
        match parts[..] {
            [_] => AxisRef::full(axis),
            _ => AxisRef::sub(mesh, axis, parts[1].parse().unwrap(), parts[2].parse().unwrap()),
        }
    };
    names.iter().map(axis).collect()
}

fn picture(shape: &[usize], mesh: &[(&str, usize)], dims: &[Axes<'_>], unreduced: Axes<'_>) -> Picture {
    let mesh = Arc::new(Mesh::new("mesh", mesh.iter().copied()).unwrap());
    let dims = dims.iter().map(|names| axes(&mesh, names)).collect();
    Picture::new(shape, Some(&Sharding::closed(&mesh, dims).with_unreduced(axes(&mesh, unreduced))))
}

fn check(picture: &Picture, expected: Expect) {
    let text = picture.to_text(&Style::PLAIN);
    assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 80), "{text}");
    expected.assert_eq(&text);
    well_formed(&picture.to_svg());
    decode(picture);
}

/// Panics if the tags of an SVG are not nested, or if a `&` in it is not the start of an escaped character.
fn well_formed(svg: &str) {
    let mut open = vec![];
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(text.split('&').skip(1).all(|t| ["amp;", "lt;", "gt;"].iter().any(|e| t.starts_with(e))), "{text}");
        match (tag.strip_prefix('/'), tag.ends_with('/')) {
            (Some(name), _) => assert_eq!(open.pop(), Some(name)),
            (None, true) => {}
            (None, false) => open.push(tag.split(' ').next().unwrap()),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

/// Returns the rows of the PNG of a picture, each with the byte of its filter and three bytes for each pixel. Panics if
/// the signature, the chunks, a checksum or the size is wrong.
fn decode(picture: &Picture) -> Vec<u8> {
    let (bytes, width, height) = picture.to_png();
    let mut rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n").expect("the signature");
    let (mut kinds, mut data) = (vec![], vec![]);
    while !rest.is_empty() {
        let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let (kind, body, sum) = (&rest[4..8], &rest[8..8 + length], &rest[8 + length..12 + length]);
        let mut crc = flate2::Crc::new();
        crc.update(&rest[4..8 + length]);
        assert_eq!(crc.sum().to_be_bytes(), sum);
        if kind == b"IHDR" {
            assert_eq!(body[..8], [(width as u32).to_be_bytes(), (height as u32).to_be_bytes()].concat());
        }
        if kind == b"IDAT" {
            std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(body), &mut data).unwrap();
        }
        kinds.push(kind.to_vec());
        rest = &rest[12 + length..];
    }
    assert_eq!(kinds, [b"IHDR", b"IDAT", b"IEND"]);
    assert_eq!(data.len(), height * (3 * width + 1));
    data
}

#[test]
fn two_dimensions() {
    check(
        &picture(&[12, 8], &[("X", 4), ("Y", 2)], &[&["X"], &["Y"]], &[]),
        expect![[r#"
        [12,8] on mesh "X"=4, "Y"=2: 8 devices
          dim 0: size 12, 4 shards of 3 over "X"
          dim 1: size 8, 2 shards of 4 over "Y"

                        0:4                      4:8
             +------------------------+------------------------+
         0:3 |           0            |           1            |
             +------------------------+------------------------+
         3:6 |           2            |           3            |
             +------------------------+------------------------+
         6:9 |           4            |           5            |
             +------------------------+------------------------+
        9:12 |           6            |           7            |
             +------------------------+------------------------+
    "#]],
    );
}

#[test]
fn one_dimension_with_copies() {
    check(
        &picture(&[16], &[("X", 4), ("Y", 2)], &[&["X"]], &[]),
        expect![[r#"
        [16] on mesh "X"=4, "Y"=2: 8 devices
          dim 0: size 16, 4 shards of 4 over "X"
          each block is on 2 devices

             0:4          4:8          8:12        12:16
        +------------+------------+------------+------------+
        |            |            |            |            |
        |    0,1     |    2,3     |    4,5     |    6,7     |
        |            |            |            |            |
        +------------+------------+------------+------------+
    "#]],
    );
}

#[test]
fn sub_axes_and_two_axes_on_a_dimension() {
    check(
        &picture(&[8, 4], &[("X", 4), ("Y", 2)], &[&["Y", "X:1:2"], &["X:2:2"]], &[]),
        expect![[r#"
        [8,4] on mesh "X"=4, "Y"=2: 8 devices
          dim 0: size 8, 4 shards of 2 over "Y", "X":(1)2
          dim 1: size 4, 2 shards of 2 over "X":(2)2

                       0:2                      2:4
            +------------------------+------------------------+
        0:2 |           0            |           2            |
            +------------------------+------------------------+
        2:4 |           4            |           6            |
            +------------------------+------------------------+
        4:6 |           1            |           3            |
            +------------------------+------------------------+
        6:8 |           5            |           7            |
            +------------------------+------------------------+
    "#]],
    );
}

#[test]
fn uneven_and_empty_shards() {
    check(
        &picture(&[5, 10], &[("X", 4), ("Y", 4)], &[&["X"], &["Y"]], &[]),
        expect![[r#"
        [5,10] on mesh "X"=4, "Y"=4: 16 devices
          dim 0: size 5, 4 shards of at most 2 over "X", 1 empty
          dim 1: size 10, 4 shards of 3 over "Y", the last one of 1
          no elements on devices 12-15

                  0:3            3:6            6:9       9:10
            +--------------+--------------+--------------+-----+
            |              |              |              |     |
        0:2 |      0       |      1       |      2       |  3  |
            |              |              |              |     |
            +--------------+--------------+--------------+-----+
            |              |              |              |     |
        2:4 |      4       |      5       |      6       |  7  |
            |              |              |              |     |
            +--------------+--------------+--------------+-----+
        4:5 |      8       |      9       |      10      | 11  |
            |              |              |              |     |
            +--------------+--------------+--------------+-----+
    "#]],
    );
}

#[test]
fn three_dimensions() {
    check(
        &picture(&[4, 2, 6], &[("X", 2), ("Y", 2)], &[&["X"], &[], &["Y"]], &[]),
        expect![[r#"
        [4,2,6] on mesh "X"=2, "Y"=2: 4 devices
          dim 0: size 4, 2 shards of 2 over "X"
          dim 1: size 2, whole
          dim 2: size 6, 2 shards of 3 over "Y"

        [0:2,:,:]
                       0:3                      3:6
            +------------------------+------------------------+
            |                        |                        |
        0:2 |           0            |           1            |
            |                        |                        |
            +------------------------+------------------------+

        [2:4,:,:]
                       0:3                      3:6
            +------------------------+------------------------+
            |                        |                        |
        0:2 |           2            |           3            |
            |                        |                        |
            +------------------------+------------------------+
    "#]],
    );
}

#[test]
fn many_planes() {
    let dims: [Axes<'_>; 4] = [&["X"], &["Y"], &[], &[]];
    check(
        &picture(&[8, 4, 2, 6], &[("X", 8), ("Y", 4)], &dims, &[]),
        expect![[r#"
        [8,4,2,6] on mesh "X"=8, "Y"=4: 32 devices
          dim 0: size 8, 8 shards of 1 over "X"
          dim 1: size 4, 4 shards of 1 over "Y"
          dim 2: size 2, whole
          dim 3: size 6, whole

        [0:1,0:1,:,:]
                       0:6
            +------------------------+
            |                        |
        0:2 |           0            |
            |                        |
            +------------------------+

        [0:1,1:2,:,:]
                       0:6
            +------------------------+
            |                        |
        0:2 |           1            |
            |                        |
            +------------------------+

        [0:1,2:3,:,:]
                       0:6
            +------------------------+
            |                        |
        0:2 |           2            |
            |                        |
            +------------------------+

          .. 27 more planes ..

        [7:8,2:3,:,:]
                       0:6
            +------------------------+
            |                        |
        0:2 |           30           |
            |                        |
            +------------------------+

        [7:8,3:4,:,:]
                       0:6
            +------------------------+
            |                        |
        0:2 |           31           |
            |                        |
            +------------------------+
    "#]],
    );
}

#[test]
fn replicated_arrays_and_scalars() {
    check(
        &picture(&[4, 2], &[("X", 8)], &[&[], &[]], &[]),
        expect![[r#"
        [4,2] on mesh "X"=8: 8 devices
          dim 0: size 4, whole
          dim 1: size 2, whole
          the whole array is on 8 devices

                       0:2
            +------------------------+
            |                        |
        0:4 |          0-7           |
            |                        |
            +------------------------+
    "#]],
    );
    check(
        &picture(&[], &[("X", 8)], &[], &[]),
        expect![[r#"
        [] on mesh "X"=8: 8 devices
          the whole array is on 8 devices

        +------------------------+
        |                        |
        |          0-7           |
        |                        |
        +------------------------+
    "#]],
    );
    check(
        &Picture::new(&[2, 3], None).with_title("x: f32[2,3]"),
        expect![[r#"
        x: f32[2,3] on one device

                       0:3
            +------------------------+
            |                        |
        0:2 |           0            |
            |                        |
            +------------------------+
    "#]],
    );
    check(
        &Picture::new(&[], None),
        expect![[r#"
        [] on one device

        +------------------------+
        |                        |
        |           0            |
        |                        |
        +------------------------+
    "#]],
    );
}

#[test]
fn unreduced_arrays() {
    check(
        &picture(&[4], &[("X", 2), ("Y", 2), ("Z", 2)], &[&["X"]], &["Z"]),
        expect![[r#"
        [4] on mesh "X"=2, "Y"=2, "Z"=2: 8 devices
          dim 0: size 4, 2 shards of 2 over "X"
          each summand is on 2 devices
          unreduced over "Z": the value is the sum of what devices joined by + hold

                   0:2                      2:4
        +------------------------+------------------------+
        |                        |                        |
        |      (0,2)+(1,3)       |      (4,6)+(5,7)       |
        |                        |                        |
        +------------------------+------------------------+
    "#]],
    );
}

#[test]
fn arrays_without_elements() {
    check(
        &picture(&[0, 4], &[("X", 2)], &[&["X"], &[]], &[]),
        expect![[r#"
        [0,4] on mesh "X"=2: 2 devices
          dim 0: size 0, 2 shards of 0 over "X"
          dim 1: size 4, whole
          no elements on devices 0,1

          the array has no elements
    "#]],
    );
    check(
        &picture(&[4, 0], &[("X", 2)], &[&["X"], &[]], &[]),
        expect![[r#"
        [4,0] on mesh "X"=2: 2 devices
          dim 0: size 4, 2 shards of 2 over "X"
          dim 1: size 0, whole
          no elements on devices 0,1

          the array has no elements
    "#]],
    );
}

#[test]
fn thousands_of_devices() {
    check(
        &picture(&[8192, 8192], &[("X", 64), ("Y", 64)], &[&["X"], &["Y"]], &[]),
        expect![[r#"
        [8192,8192] on mesh "X"=64, "Y"=64: 4096 devices
          dim 0: size 8192, 64 shards of 128 over "X"
          dim 1: size 8192, 64 shards of 128 over "Y"

                   0:128  128:256 256:384 384:512 .. 7808:7936 7936:8064 8064:8192
                  +------+-------+-------+-------+--+---------+---------+---------+
            0:128 |  0   |   1   |   2   |   3   |..|   61    |   62    |   63    |
                  +------+-------+-------+-------+--+---------+---------+---------+
          128:256 |  64  |  65   |  66   |  67   |..|   125   |   126   |   127   |
                  +------+-------+-------+-------+--+---------+---------+---------+
          256:384 | 128  |  129  |  130  |  131  |..|   189   |   190   |   191   |
                  +------+-------+-------+-------+--+---------+---------+---------+
          384:512 | 192  |  193  |  194  |  195  |..|   253   |   254   |   255   |
                  +------+-------+-------+-------+--+---------+---------+---------+
          512:640 | 256  |  257  |  258  |  259  |..|   317   |   318   |   319   |
                  +------+-------+-------+-------+--+---------+---------+---------+
          640:768 | 320  |  321  |  322  |  323  |..|   381   |   382   |   383   |
                  +------+-------+-------+-------+--+---------+---------+---------+
               .. |  ..  |  ..   |  ..   |  ..   |..|   ..    |   ..    |   ..    |
                  +------+-------+-------+-------+--+---------+---------+---------+
        7424:7552 | 3712 | 3713  | 3714  | 3715  |..|  3773   |  3774   |  3775   |
                  +------+-------+-------+-------+--+---------+---------+---------+
        7552:7680 | 3776 | 3777  | 3778  | 3779  |..|  3837   |  3838   |  3839   |
                  +------+-------+-------+-------+--+---------+---------+---------+
        7680:7808 | 3840 | 3841  | 3842  | 3843  |..|  3901   |  3902   |  3903   |
                  +------+-------+-------+-------+--+---------+---------+---------+
        7808:7936 | 3904 | 3905  | 3906  | 3907  |..|  3965   |  3966   |  3967   |
                  +------+-------+-------+-------+--+---------+---------+---------+
        7936:8064 | 3968 | 3969  | 3970  | 3971  |..|  4029   |  4030   |  4031   |
                  +------+-------+-------+-------+--+---------+---------+---------+
        8064:8192 | 4032 | 4033  | 4034  | 4035  |..|  4093   |  4094   |  4095   |
                  +------+-------+-------+-------+--+---------+---------+---------+
    "#]],
    );
    check(
        &picture(&[8192], &[("X", 64), ("Y", 64)], &[&["Y"]], &[]),
        expect![[r#"
        [8192] on mesh "X"=64, "Y"=64: 4096 devices
          dim 0: size 8192, 64 shards of 128 over "Y"
          each block is on 64 devices

           0:128     128:256    256:384    384:512   .. 7808:7936 7936:8064 8064:8192
        +----------+----------+----------+----------+--+---------+---------+---------+
        |          |          |          |          |  |         |         |         |
        | 0,..(64) | 1,..(64) | 2,..(64) | 3,..(64) |..|61,..(64)|62,..(64)|63,..(64)|
        |          |          |          |          |  |         |         |         |
        +----------+----------+----------+----------+--+---------+---------+---------+
    "#]],
    );
    check(
        &picture(&[8192], &[("X", 4096)], &[&["X"]], &[]),
        expect![[r#"
        [8192] on mesh "X"=4096: 4096 devices
          dim 0: size 8192, 4096 shards of 2 over "X"

         0:2  2:4  4:6  6:8  8:10 .. 8182:8184 8184:8186 8186:8188 8188:8190 8190:8192
        +----+----+----+----+----+--+---------+---------+---------+---------+---------+
        |    |    |    |    |    |  |         |         |         |         |         |
        | 0  | 1  | 2  | 3  | 4  |..|  4091   |  4092   |  4093   |  4094   |  4095   |
        |    |    |    |    |    |  |         |         |         |         |         |
        +----+----+----+----+----+--+---------+---------+---------+---------+---------+
    "#]],
    );
}

#[test]
fn arrays_of_per_device_code() {
    let mesh = Arc::new(Mesh::new("mesh", [("X", 2), ("Y", 2), ("Z", 2)]).unwrap());
    let layout = Sharding::closed(&mesh, vec![axes(&mesh, &["Z"]), vec![]]);
    check(
        &Picture::per_device(&[4, 2], &layout, &axes(&mesh, &["X"])),
        expect![[r#"
        [4,2] on mesh "X"=2, "Y"=2, "Z"=2: 8 devices
          per device: one array for each coordinate along "X"
          dim 0: size 4, 2 shards of 2 over "Z"
          dim 1: size 2, whole
          each block is on 2 devices

        [X=0,:,:]
                       0:2
            +------------------------+
            |                        |
        0:2 |          0,2           |
            |                        |
            +------------------------+
            |                        |
        2:4 |          1,3           |
            |                        |
            +------------------------+

        [X=1,:,:]
                       0:2
            +------------------------+
            |                        |
        0:2 |          4,6           |
            |                        |
            +------------------------+
            |                        |
        2:4 |          5,7           |
            |                        |
            +------------------------+
    "#]],
    );
    check(
        &Picture::per_device(&[], &Sharding::replicated(&mesh, 0), &axes(&mesh, &["X", "Y"])),
        expect![[r#"
        [] on mesh "X"=2, "Y"=2, "Z"=2: 8 devices
          per device: one array for each coordinate along "X", "Y"
          each block is on 2 devices

                       Y=0                      Y=1
            +------------------------+------------------------+
            |                        |                        |
        X=0 |          0,1           |          2,3           |
            |                        |                        |
            +------------------------+------------------------+
            |                        |                        |
        X=1 |          4,5           |          6,7           |
            |                        |                        |
            +------------------------+------------------------+
    "#]],
    );
}

#[test]
fn a_rich_picture() {
    let picture = picture(&[3, 3], &[("X", 2), ("Y", 2)], &[&["X"], &["Y"]], &[]);
    expect![[r#"
        [3,3] on mesh "X"=2, "Y"=2: 4 devices
          dim 0: size 3, 2 shards of 2 over "X", the last one of 1
          dim 1: size 3, 2 shards of 2 over "Y", the last one of 1

                       0:2                2:3
            ┌────────────────────────┬────────────┐
            │~[48;5;117;30m                        ~[0m│~[48;5;222;30m            ~[0m│
        0:2 │~[48;5;117;30m           0            ~[0m│~[48;5;222;30m     1      ~[0m│
            │~[48;5;117;30m                        ~[0m│~[48;5;222;30m            ~[0m│
            ├────────────────────────┼────────────┤
        2:3 │~[48;5;218;30m           2            ~[0m│~[48;5;183;30m     3      ~[0m│
            │~[48;5;218;30m                        ~[0m│~[48;5;183;30m            ~[0m│
            └────────────────────────┴────────────┘
    "#]]
    .assert_eq(&picture.to_text(&Style::RICH).replace('\x1b', "~"));
}

#[test]
fn meshes_on_chips() {
    let grid = |name: &str, grid: &[usize], wraps: bool, pods: usize| Chips {
        name: name.into(),
        torus: Torus::new(grid.into(), vec![wraps; grid.len()]),
        devices_per_chip: 1,
        pods,
        is_switched: false,
    };
    let of = |mesh: &[(&str, usize)], chips: Chips| {
        chips.to_text(&Mesh::new("mesh", mesh.iter().copied()).unwrap(), &Style::PLAIN)
    };
    expect![[r#"
        mesh on v5e:2x4: the devices of each chip, and their coordinates on the mesh
          "X"=4: along y, neighbours 1 link apart, a line
          "Y"=2: along x, neighbours 1 link apart

                       x=0                      x=1
            +------------------------+------------------------+
        y=0 |        0 (0,0)         |        1 (0,1)         |
            +------------------------+------------------------+
        y=1 |        2 (1,0)         |        3 (1,1)         |
            +------------------------+------------------------+
        y=2 |        4 (2,0)         |        5 (2,1)         |
            +------------------------+------------------------+
        y=3 |        6 (3,0)         |        7 (3,1)         |
            +------------------------+------------------------+
    "#]]
    .assert_eq(&of(&[("X", 4), ("Y", 2)], grid("v5e:2x4", &[2, 4], false, 1)));
    expect![[r#"
        mesh on v5e:2x4: the devices of each chip, and their coordinates on the mesh
          "X"=8: along x and y, neighbours 1 link apart, a ring in the order 0 1 3 5 7 6 4 2

                       x=0                      x=1
            +------------------------+------------------------+
        y=0 |         0 (0)          |         1 (1)          |
            +------------------------+------------------------+
        y=1 |         2 (2)          |         3 (3)          |
            +------------------------+------------------------+
        y=2 |         4 (4)          |         5 (5)          |
            +------------------------+------------------------+
        y=3 |         6 (6)          |         7 (7)          |
            +------------------------+------------------------+
    "#]]
    .assert_eq(&of(&[("X", 8)], grid("v5e:2x4", &[2, 4], false, 1)));
    expect![[r#"
        mesh on v5p:4x4x4: the devices of each chip, and their coordinates on the mesh
          "X"=4: along z, neighbours 1 link apart, a ring
          "Y"=4: along y, neighbours 1 link apart, a ring
          "Z"=4: along x, neighbours 1 link apart, a ring
        z=0
                 x=0          x=1          x=2          x=3
            +------------+------------+------------+------------+
        y=0 | 0 (0,0,0)  | 1 (0,0,1)  | 2 (0,0,2)  | 3 (0,0,3)  |
            +------------+------------+------------+------------+
        y=1 | 4 (0,1,0)  | 5 (0,1,1)  | 6 (0,1,2)  | 7 (0,1,3)  |
            +------------+------------+------------+------------+
        y=2 | 8 (0,2,0)  | 9 (0,2,1)  | 10 (0,2,2) | 11 (0,2,3) |
            +------------+------------+------------+------------+
        y=3 | 12 (0,3,0) | 13 (0,3,1) | 14 (0,3,2) | 15 (0,3,3) |
            +------------+------------+------------+------------+
        z=1
                 x=0          x=1          x=2          x=3
            +------------+------------+------------+------------+
        y=0 | 16 (1,0,0) | 17 (1,0,1) | 18 (1,0,2) | 19 (1,0,3) |
            +------------+------------+------------+------------+
        y=1 | 20 (1,1,0) | 21 (1,1,1) | 22 (1,1,2) | 23 (1,1,3) |
            +------------+------------+------------+------------+
        y=2 | 24 (1,2,0) | 25 (1,2,1) | 26 (1,2,2) | 27 (1,2,3) |
            +------------+------------+------------+------------+
        y=3 | 28 (1,3,0) | 29 (1,3,1) | 30 (1,3,2) | 31 (1,3,3) |
            +------------+------------+------------+------------+
        z=2
                 x=0          x=1          x=2          x=3
            +------------+------------+------------+------------+
        y=0 | 32 (2,0,0) | 33 (2,0,1) | 34 (2,0,2) | 35 (2,0,3) |
            +------------+------------+------------+------------+
        y=1 | 36 (2,1,0) | 37 (2,1,1) | 38 (2,1,2) | 39 (2,1,3) |
            +------------+------------+------------+------------+
        y=2 | 40 (2,2,0) | 41 (2,2,1) | 42 (2,2,2) | 43 (2,2,3) |
            +------------+------------+------------+------------+
        y=3 | 44 (2,3,0) | 45 (2,3,1) | 46 (2,3,2) | 47 (2,3,3) |
            +------------+------------+------------+------------+
          .. 1 more plane ..
    "#]]
    .assert_eq(&of(&[("X", 4), ("Y", 4), ("Z", 4)], grid("v5p:4x4x4", &[4, 4, 4], true, 1)));
    expect![[r#"
        mesh on v5e:2x2*2: the devices of each chip, and their coordinates on the mesh
          "D"=2: between pods, over the network
          "M"=4: along x and y, neighbours 1 link apart, a ring in the order 0 1 3 2
        pod 0
                       x=0                      x=1
            +------------------------+------------------------+
            |                        |                        |
        y=0 |        0 (0,0)         |        1 (0,1)         |
            |                        |                        |
            +------------------------+------------------------+
            |                        |                        |
        y=1 |        2 (0,2)         |        3 (0,3)         |
            |                        |                        |
            +------------------------+------------------------+
        pod 1
                       x=0                      x=1
            +------------------------+------------------------+
            |                        |                        |
        y=0 |        4 (1,0)         |        5 (1,1)         |
            |                        |                        |
            +------------------------+------------------------+
            |                        |                        |
        y=1 |        6 (1,2)         |        7 (1,3)         |
            |                        |                        |
            +------------------------+------------------------+
    "#]]
    .assert_eq(&of(&[("D", 2), ("M", 4)], grid("v5e:2x2*2", &[2, 2], false, 2)));
    let nodes = Chips { is_switched: true, ..grid("h100:2x4", &[4], false, 2) };
    expect![[r#"
        mesh on h100:2x4: the devices of each chip, and their coordinates on the mesh
          "D"=2: between nodes, over the network
          "M"=4: within a node, over its switch
        node 0
            gpu=0        gpu=1        gpu=2        gpu=3
        +------------+------------+------------+------------+
        |            |            |            |            |
        |  0 (0,0)   |  1 (0,1)   |  2 (0,2)   |  3 (0,3)   |
        |            |            |            |            |
        +------------+------------+------------+------------+
        node 1
            gpu=0        gpu=1        gpu=2        gpu=3
        +------------+------------+------------+------------+
        |            |            |            |            |
        |  4 (1,0)   |  5 (1,1)   |  6 (1,2)   |  7 (1,3)   |
        |            |            |            |            |
        +------------+------------+------------+------------+
    "#]]
    .assert_eq(&of(&[("D", 2), ("M", 4)], nodes));
    let cores = Chips { devices_per_chip: 2, ..grid("v3:2x2", &[2, 2], false, 1) };
    expect![[r#"
        mesh on v3:2x2: the devices of each chip, and their coordinates on the mesh
          "D"=4: along x and y, neighbours 1 link apart, a ring in the order 0 1 3 2
          "M"=2: within a chip

                       x=0                      x=1
            +------------------------+------------------------+
            |                        |                        |
        y=0 |    0 (0,0) 1 (0,1)     |    2 (1,0) 3 (1,1)     |
            |                        |                        |
            +------------------------+------------------------+
            |                        |                        |
        y=1 |    4 (2,0) 5 (2,1)     |    6 (3,0) 7 (3,1)     |
            |                        |                        |
            +------------------------+------------------------+
    "#]]
    .assert_eq(&of(&[("D", 4), ("M", 2)], cores));
}

/// Tests that an axis over x and half-way around z is a ring of a twisted torus.
#[test]
fn axes_on_a_twisted_torus() {
    let torus = Torus::twisted(vec![4, 4, 8]).unwrap();
    let name = "v4:4x4x8_twisted".to_string();
    let chips = Chips { name, torus, devices_per_chip: 1, pods: 1, is_switched: false };
    // Devices are numbered with x first, so z is the first axis: its halves, its quarters, y and x.
    let mesh = Mesh::new("mesh", [("half", 2), ("z", 4), ("y", 4), ("x", 4)]).unwrap();
    let expected = [
        "\"half\"=2: along z, neighbours 4 links apart",
        "\"z\"=4: along z, neighbours 1 link apart, a line",
        "\"y\"=4: along y, neighbours 1 link apart, a line",
        "\"x\"=4: along x, neighbours 1 link apart, a line",
    ];
    assert_eq!(chips.links(&mesh), expected);
    let ids = (0..128).map(|i| i / 8 % 4 * 4 + i / 32 * 16 + i % 4 + i % 8 / 4 * 64).collect();
    let mesh = Mesh { device_ids: Some(ids), ..Mesh::new("mesh", [("z", 4), ("y", 4), ("xz", 8)]).unwrap() };
    assert_eq!(chips.links(&mesh)[2], "\"xz\"=8: along x, neighbours 1 link apart, a ring");
}

#[test]
fn chips_are_part_of_a_picture() {
    let chips = Chips {
        name: "v5e:2x1".into(),
        torus: Torus::new(vec![2, 1], vec![false; 2]),
        devices_per_chip: 1,
        pods: 1,
        is_switched: false,
    };
    check(
        &picture(&[4], &[("X", 2)], &[&["X"]], &[]).on_chips(chips),
        expect![[r#"
        [4] on mesh "X"=2: 2 devices
          dim 0: size 4, 2 shards of 2 over "X"

                   0:2                      2:4
        +------------------------+------------------------+
        |                        |                        |
        |           0            |           1            |
        |                        |                        |
        +------------------------+------------------------+

        mesh on v5e:2x1: the devices of each chip, and their coordinates on the mesh
          "X"=2: along x, neighbours 1 link apart

                       x=0                      x=1
            +------------------------+------------------------+
            |                        |                        |
        y=0 |         0 (0)          |         1 (1)          |
            |                        |                        |
            +------------------------+------------------------+
    "#]],
    );
}

/// A generator of random numbers, made from a seed.
struct Choose(u64);

impl Choose {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn mesh(&mut self) -> Mesh {
        let sizes: Vec<usize> = (0..self.below(4)).map(|_| [1, 2, 3, 4][self.below(4)]).collect();
        let names = ["X", "Y", "Z"].into_iter();
        let mesh = Mesh::new("mesh", names.zip(sizes)).unwrap();
        let mut ids: Vec<usize> = (0..mesh.size()).collect();
        if mesh.axes.is_empty() || self.below(2) == 0 {
            return mesh;
        }
        (1..ids.len()).for_each(|i| ids.swap(i, self.below(i + 1)));
        mesh.with_device_ids(ids).unwrap()
    }

    /// Returns a shape and its layout: each prime part of an axis splits a dimension, is unreduced, or neither.
    fn layout(&mut self) -> (Vec<usize>, Sharding) {
        let mesh = Arc::new(self.mesh());
        let rank = self.below(5);
        let shape: Vec<usize> =
            (0..rank).map(|_| [0, 1, 2, 3, 4, 5, 6, 7, 8, 12][self.below(10).max(self.below(2))]).collect();
        let mut dims = vec![vec![]; rank];
        let mut unreduced = vec![];
        for part in mesh.prime_parts() {
            match self.below(rank + 2) {
                i if i < rank => AxisRef::push_or_merge(&mut dims[i], part, &mesh),
                i if i == rank => AxisRef::push_or_merge(&mut unreduced, part, &mesh),
                _ => {}
            }
        }
        (shape, Sharding::closed(&mesh, dims).with_unreduced(unreduced))
    }
}

/// Returns the devices that hold the element at the index `element`, for each summand, found without blocks.
fn holders_of(element: &[usize], shape: &[usize], sharding: &Sharding) -> Vec<Vec<usize>> {
    let mesh = &sharding.mesh;
    let count = sharding.unreduced.iter().map(|a| a.size(mesh)).product();
    let mut holders = vec![vec![]; count];
    let local = sharding.local_shape(shape);
    for position in 0..mesh.size() {
        let at = mesh.coordinates(position);
        let shard = sharding.shard_index(&at);
        if element.iter().zip(&local).zip(&shard).all(|((e, n), s)| e / n == *s) {
            holders[AxisRef::index_in(mesh, &sharding.unreduced, &at)].push(mesh.device(position));
        }
    }
    holders.iter_mut().for_each(|h| h.sort_unstable());
    holders
}

fn expand(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse().unwrap()..=last.parse::<usize>().unwrap()
    };
    list.split(',').flat_map(range).collect()
}

/// Returns the devices in the cells of a plain picture whose lists are whole, in order. Each cell has a list for each
/// summand.
fn cells(text: &str) -> Vec<Vec<Vec<usize>>> {
    let rows = text.lines().filter(|line| line.trim_end().ends_with('|'));
    let labels = rows.flat_map(|row| row.split('|').skip(1).map(str::trim).filter(|label| !label.is_empty()));
    let lists = |label: &str| label.split('+').map(|list| expand(list.trim_matches(['(', ')']))).collect();
    labels.map(lists).collect()
}

#[test]
fn each_block_shows_the_devices_that_hold_it() {
    let style = Style { width: 2000, height: 100_000, is_rich: false };
    for seed in 0..500 {
        let (shape, sharding) = Choose(seed).layout();
        let picture = Picture::new(&shape, Some(&sharding));
        let blocks = picture.blocks();
        let elements: usize = shape.iter().product();
        let mut seen = 0;
        let mut expected = vec![];
        for block in &blocks {
            let sizes: Vec<usize> = block.ranges.iter().map(ExactSizeIterator::len).collect();
            for i in 0..block.element_count() {
                let inside = blocks::unravel(&sizes, i);
                let element: Vec<usize> = inside.iter().zip(&block.ranges).map(|(i, r)| i + r.start).collect();
                assert_eq!(block.holders, holders_of(&element, &shape, &sharding), "seed {seed}: {element:?}");
                seen += 1;
            }
            expected.extend((block.element_count() > 0).then(|| block.holders.clone()));
        }
        assert_eq!(seen, elements, "seed {seed}: {sharding} of {shape:?}");
        let devices: usize = blocks.iter().flat_map(|b| &b.holders).map(Vec::len).sum();
        assert_eq!(devices, sharding.mesh.size(), "seed {seed}");
        let text = picture.to_text(&style);
        let is_whole = blocks.iter().all(|b| b.ranges.len() < 2 || !text.contains(".."));
        assert!(is_whole, "seed {seed}: {text}");
        assert_eq!(cells(&text), expected, "seed {seed}: {sharding} of {shape:?}\n{text}");
        [24, 80].iter().for_each(|&width| fits(&picture, &Style { width, ..Style::PLAIN }));
        well_formed(&picture.to_svg());
        decode(&picture);
    }
}

fn fits(picture: &Picture, style: &Style) {
    let text = picture.to_text(style);
    assert!(text.is_ascii() && text.lines().all(|line| line.len() <= style.width), "{text}");
}

/// Tests that a terminal obeys no title and no name of an axis, and that they do not break lines.
#[test]
fn names_are_printable() {
    let shown = picture(&[4], &[("x\x1b[31m", 2), ("a\nb", 2)], &[&["a\nb"]], &[]).with_title("t\n");
    let expected = r#"t\n on mesh "x\u{1b}[31m"=2, "a\nb"=2: 4 devices
  dim 0: size 4, 2 shards of 2 over "a\nb"
"#;
    let text = shown.to_text(&Style::PLAIN);
    assert!(text.starts_with(expected), "{text}");
    let mesh = Arc::new(Mesh::new("mesh", [("a\nb", 2)]).unwrap());
    let shown = Picture::per_device(&[4, 4], &Sharding::replicated(&mesh, 2), &axes(&mesh, &["a\nb"]));
    let text = shown.to_text(&Style::PLAIN);
    assert!(text.contains(r"[a\nb=0,:,:]"), "{text}");
}
