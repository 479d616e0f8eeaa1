//! Random layouts of a program's arguments on eight devices.

use crate::communication::random;
use shardwise_base::{Mesh, Sharding};
use shardwise_check::choose::Chooser;
use shardwise_ir::Module;
use std::fmt;
use std::sync::Arc;

const DEVICES: usize = 8;

/// Draws layouts for the arguments of one program.
pub struct Layouts {
    choose: Chooser,
    is_early: bool,
    /// The layouts that were drawn.
    drawn: Vec<Sharding>,
}

impl Layouts {
    pub fn new(seed: u64) -> Layouts {
        let mut choose = Chooser::new(seed);
        let is_early = choose.one_in(2);
        Layouts { choose, is_early, drawn: vec![] }
    }

    /// Returns true if the layouts are those of the function before its transforms. The layouts of tangents, cotangents
    /// and batches follow from them. Otherwise all arguments of the transformed function have some.
    pub fn are_early(&self) -> bool {
        self.is_early
    }

    /// Draws a layout for each argument of `@main` that is an array, on the mesh of eight devices that the program has,
    /// or on one that is drawn. About one in four of the axes of composite size is cut, and dimensions may be split
    /// unevenly.
    pub fn lay_out(&mut self, module: &mut Module) {
        let own = module.meshes.iter().find(|mesh| mesh.size() == DEVICES).cloned();
        let mesh = own.unwrap_or_else(|| self.mesh(module));
        let Some(main) = module.funcs.iter_mut().find(|f| &*f.name == "main") else { return };
        for v in main.body.args().to_vec() {
            let Some(ty) = main.body.ty(v).as_tensor() else { continue };
            let sharding = random::layout(&mut self.choose, &mesh, ty.rank());
            self.drawn.push(sharding.clone());
            main.body.value_mut(v).sharding = Some(sharding);
        }
    }

    fn mesh(&mut self, module: &mut Module) -> Arc<Mesh> {
        let sizes = *self.choose.of::<&[usize]>(&[&[8][..], &[4, 2], &[2, 4], &[2, 2, 2]]);
        let mesh = random::mesh(sizes);
        module.meshes.push(mesh.clone());
        mesh
    }
}

/// Writes when the arguments get their layouts, the mesh, and the layouts that were drawn so far.
impl fmt::Display for Layouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.is_early { "layouts before the transforms" } else { "layouts after the transforms" };
        write!(f, "{when}")?;
        if let Some(first) = self.drawn.first() {
            write!(f, " on {}", first.mesh)?;
        }
        self.drawn.iter().try_for_each(|s| write!(f, " {s}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_ir::text::{PrintOptions, parse, print};
    use shardwise_ops::OPS;

    #[test]
    fn arguments_are_laid_out_on_eight_devices() {
        let text = "func.func @main(%a: tensor<4x6xf32>, %b: tensor<f32>) -> tensor<4x6xf32> {\n  return %a : tensor<4x6xf32>\n}";
        let mut split = 0;
        for seed in 0..20 {
            let mut module = parse("test.mlir", text, &OPS).unwrap();
            let mut layouts = Layouts::new(seed);
            layouts.lay_out(&mut module);
            assert_eq!(layouts.drawn.len(), 2);
            assert!(shardwise_ir::verify(&module).is_empty());
            // The layouts survive the text, and the partitioner uses them.
            let read = parse("test.mlir", &print(&module, &PrintOptions::default()), &OPS).unwrap();
            let signature = shardwise_check::run::partitioned(&read).unwrap().signature;
            for (ty, layout) in signature.inputs.iter().zip(&layouts.drawn) {
                assert!(ty.sharding.as_ref().is_some_and(|s| s.same_layout(layout)), "{layout}");
            }
            split += usize::from(layouts.drawn[0].split_axes().next().is_some());
        }
        assert!(split > 10, "{split} of 20 are split");
    }
}
