//! `shardwise shardings`: pictures of the layouts that the compiler chooses.

use crate::simulate::chosen_topology;
use crate::{PictureFormat, ShardingsArgs};
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, Loc, Mesh, Sharding};
use shardwise_ir::{Module, TensorType};
use shardwise_ops::shardy::manual_axes_around;
use shardwise_sim::Topology;
use shardwise_view::{Chips, Picture, Style};
use std::path::Path;
use std::sync::Arc;

/// The pass after which all values have the layouts that the compiler has chosen.
const LAYOUTS_CHOSEN: &str = "reshard";

/// A picture and the name of its file, without the extension.
type Named = (String, Picture);

pub fn shardings(args: &ShardingsArgs) -> Result<(), Diagnostics> {
    let stated = args.topology.as_deref().map(Topology::parse).transpose()?;
    let module = args.source.read()?;
    let laid_out = args.source.run_until(LAYOUTS_CHOSEN, &module)?;
    let Some(mesh) = laid_out.main_mesh().cloned() else { return Err(no_mesh(&module.loc).into()) };
    let topology = chosen_topology(stated, &laid_out)?;
    let pictures = Pictures { chips: chips(&mesh, topology, module.program_loc())?, module: &laid_out, mesh };
    let all = match args.line {
        Some(line) => pictures.at_line(line)?,
        None => pictures.of_signature()?,
    };
    match &args.output {
        Some(folder) => save(folder, args.format, &all),
        None => {
            let texts: Vec<String> = all.iter().map(|(_, picture)| picture.to_text(&Style::of_stdout())).collect();
            show!("{}", texts.join("\n"));
            Ok(())
        }
    }
}

fn save(folder: &Path, format: PictureFormat, all: &[Named]) -> Result<(), Diagnostics> {
    std::fs::create_dir_all(folder).map_err(|e| Diagnostics::from(unwritable(folder, &e)))?;
    for (name, picture) in all {
        let path = folder.join(format!("{name}.{}", format.extension()));
        picture.save(&path)?;
        say!("{}", path.display());
    }
    Ok(())
}

/// Returns the chips of the topology, or `None` if there is none. Fails if the mesh of the program at `loc` has another
/// number of devices.
fn chips(mesh: &Mesh, topology: Option<Topology>, loc: &Loc) -> Result<Option<Chips>, Diagnostics> {
    let Some(topology) = topology else { return Ok(None) };
    topology.check_mesh(mesh).map_err(|found| Diagnostics::from(found).located(loc))?;
    Ok(Some(topology.chips()))
}

/// A program in which all values have layouts, and its mesh, of which pictures are made.
struct Pictures<'a> {
    module: &'a Module,
    mesh: Arc<Mesh>,
    chips: Option<Chips>,
}

impl Pictures<'_> {
    fn of_signature(&self) -> Result<Vec<Named>, Diagnostics> {
        let main = self.module.main().ok_or_else(|| no_function(&self.module.loc))?;
        let args = main.body.args().iter().enumerate().filter_map(|(i, &v)| {
            let ty = main.body.ty(v).as_tensor()?;
            Some(self.named("argument", i, ty, main.body.sharding(v), &[]))
        });
        let results = main.result_types.iter().enumerate().filter_map(|(i, ty)| {
            let own = main.result_shardings.get(i).and_then(Option::as_ref);
            let sharding = own.or_else(|| main.body.sharding(*main.body.results().get(i)?));
            Some(self.named("result", i, ty.as_tensor()?, sharding, &[]))
        });
        Ok(args.chain(results).collect())
    }

    fn at_line(&self, line: u32) -> Result<Vec<Named>, Diagnostics> {
        let mut found: Vec<Named> = vec![];
        for func in self.module.funcs.iter() {
            for op in func.body.walk() {
                let view = self.module.view(&func.body, op);
                if view.loc().file_pos().is_none_or(|at| at.line != line) {
                    continue;
                }
                let manual = manual_axes_around(&view);
                let name = view.name().rsplit('.').next().unwrap_or_default();
                for &v in view.results() {
                    let Some(ty) = func.body.ty(v).as_tensor() else { continue };
                    found.push(self.named(name, found.len(), ty, func.body.sharding(v), &manual));
                }
            }
        }
        if found.is_empty() { Err(nothing_at(line, &self.module.loc).into()) } else { Ok(found) }
    }

    /// Returns the picture of a value and the name of its file. `manual` are the axes of the per-device code around it.
    fn named(&self, what: &str, i: usize, ty: &TensorType, of: Option<&Sharding>, manual: &[AxisRef]) -> Named {
        let sharding = of.cloned().unwrap_or_else(|| Sharding::replicated(&self.mesh, ty.rank())).canonical();
        let picture = match manual.is_empty() {
            true => Picture::new(&ty.shape, Some(&sharding)),
            false => Picture::per_device(&ty.shape, &sharding, manual),
        };
        let picture = picture.with_title(format!("{what} {i}: {}", ty.short()));
        let picture = match &self.chips {
            Some(chips) => picture.on_chips(chips.clone()),
            None => picture,
        };
        (format!("{what}{i}"), picture)
    }
}

fn no_mesh(loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-mesh", loc, "the program has no mesh: all of its values are on one device")
        .help("state a mesh, such as `sdy.mesh @mesh = <[\"X\"=4]>`, and the layout of an argument over it")
}

fn no_function(loc: &Loc) -> Diagnostic {
    Diagnostic::error("run-no-function", loc, "the module has no functions")
        .help("add the function to show: `func.func public @main`")
}

fn nothing_at(line: u32, loc: &Loc) -> Diagnostic {
    let message = format!("no op at line {line} makes an array after calls are inlined and unused ops are removed");
    Diagnostic::error("line-empty", loc, message)
        .help("name a line of the program that was traced, or of the text if it has no locations")
}

fn unwritable(folder: &Path, why: &std::io::Error) -> Diagnostic {
    let loc = Loc::file(folder.display().to_string(), 1, 1);
    Diagnostic::error("output-unwritable", &loc, format!("cannot make the folder: {why}"))
        .help("name a folder that can be written")
}
