//! The schemas of the table agree with the ops' own checks and with their texts.

use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::text::{Form, Piece};
use shardwise_ir::{Attr, Attrs, Module, Op, OpView};
use shardwise_ops::{AttrSpec, OPS, Opcode, Presence};

fn example(op: Opcode) -> (Module, Op) {
    let module = shardwise_ir::text::parse(op.name(), op.facts().example(op), &OPS).expect("the example is read");
    let body = &module.main().expect("the example has a @main").body;
    let is_it = |&o: &Op| Opcode::of_view(&module.view(body, o)) == op;
    let found = body.walk().into_iter().find(is_it).expect("the example has the op");
    (module, found)
}

fn view(module: &Module, op: Op) -> OpView<'_> {
    module.view(&module.main().expect("the example has a @main").body, op)
}

fn attrs_mut(module: &mut Module, op: Op) -> &mut Attrs {
    let main = module.funcs.iter_mut().find(|f| &*f.name == "main").expect("the example has a @main");
    &mut main.body.op_mut(op).attrs
}

/// Returns false for the names of attributes that any op may have, which are in no schema. Returns true for all others.
fn is_own(name: &str) -> bool {
    !["mhlo.", "sdy.", "shardwise.rule"].iter().any(|prefix| name.starts_with(prefix))
}

#[test]
fn attributes_of_examples_are_in_the_schema() {
    for &op in Opcode::ALL {
        let (module, found) = example(op);
        for (name, attr) in view(&module, found).attrs().iter().filter(|(name, _)| is_own(name)) {
            let spec = op.attribute(name).unwrap_or_else(|| panic!("`{name}` is not in the schema of {}", op.name()));
            assert!(spec.kind.fits(attr), "`{name}` of {}: {attr:?} is not {:?}", op.name(), spec.kind);
        }
    }
}

#[test]
fn required_attributes_are_those_that_the_verifier_misses() {
    let (mut required, mut optional) = (0, 0);
    for &op in Opcode::ALL {
        let (module, found) = example(op);
        for spec in op.schema().attributes {
            let mut changed = module.clone();
            if attrs_mut(&mut changed, found).remove(spec.name).is_none() {
                assert_ne!(spec.presence, Presence::Required, "the example of {} has no `{}`", op.name(), spec.name);
                continue;
            }
            let errors = shardwise_ir::verify(&changed);
            match spec.presence {
                Presence::Required => {
                    required += 1;
                    assert_eq!(errors, missing(&view(&changed, found), spec).into());
                }
                Presence::Optional(_) => {
                    optional += 1;
                    let is_missed = errors.iter().any(|d| d.code == spec.code());
                    // The sizes of a window may be absent for rank 0 only.
                    let depends_on_rank = spec.code() == "select_and_scatter_i4";
                    assert_eq!(is_missed, depends_on_rank, "{} without `{}`: {errors}", op.name(), spec.name);
                }
            }
        }
    }
    assert!(required > 50 && optional > 10, "only {required} and {optional} attributes");
}

fn missing(op: &OpView<'_>, spec: &AttrSpec) -> Diagnostic {
    let message = format!("`{}` lacks the attribute `{}`", op.name(), spec.name);
    Diagnostic::error(spec.code(), op.loc(), message).expected(spec.kind.in_words())
}

#[test]
fn ops_without_attributes_are_refused_for_each_that_is_required() {
    for &op in Opcode::ALL {
        let (mut module, found) = example(op);
        *attrs_mut(&mut module, found) = Attrs::new();
        let attributes = op.schema().attributes.iter();
        let required = attributes.filter(|spec| spec.presence == Presence::Required);
        let view = view(&module, found);
        let expected: Vec<Diagnostic> = required.map(|spec| missing(&view, spec)).collect();
        match shardwise_ops::infer(&module, view.body, found) {
            Err(errors) if !expected.is_empty() => assert_eq!(errors, Diagnostics(expected)),
            _ => assert_eq!(expected, [], "{} is accepted", op.name()),
        }
        let text = shardwise_ir::text::print_op(&module, view.body, found, &Default::default());
        assert!(text.contains(op.name().trim_start_matches("func.")), "{text}");
    }
}

#[test]
fn attributes_of_another_kind_are_refused() {
    for &op in Opcode::ALL {
        let (module, found) = example(op);
        for spec in op.schema().attributes {
            let other = Attr::Type(shardwise_ir::Type::Token);
            if spec.kind.fits(&other) {
                continue;
            }
            let mut changed = module.clone();
            attrs_mut(&mut changed, found).set(spec.name, other);
            let errors = shardwise_ir::verify(&changed);
            assert!(errors.iter().any(|d| d.code == spec.code()), "{} `{}`: {errors}", op.name(), spec.name);
        }
    }
}

#[test]
fn regions_that_an_op_does_not_have_are_refused() {
    let mut accepting = vec![];
    for &op in Opcode::ALL {
        let (mut module, found) = example(op);
        let main = module.funcs.iter_mut().find(|f| &*f.name == "main").expect("the example has a @main");
        let region = main.body.add_region();
        main.body.add_op(region, Opcode::RegionReturn.into(), [], Attrs::new(), [], [], Default::default());
        main.body.op_mut(found).regions.push(region);
        if !shardwise_ir::verify(&module).has_errors() {
            accepting.push(op.name());
        }
    }
    assert_eq!(accepting, [""; 0]);
}

#[test]
fn attributes_of_text_forms_are_in_the_schema() {
    fn written(pieces: &[Piece], found: &mut Vec<&'static str>) {
        for piece in pieces {
            match piece {
                Piece::Attr(name, _) => found.push(name),
                Piece::Optional(inner) => written(inner, found),
                Piece::Part(part) => found.extend(part.attrs()),
                _ => {}
            }
        }
    }
    for &op in Opcode::ALL {
        let Form::Pieces(pieces, _) = op.schema().syntax.form else { continue };
        let mut found = vec![];
        written(pieces, &mut found);
        for name in found {
            assert!(op.attribute(name).is_some(), "`{name}` is not in the schema of {}", op.name());
        }
    }
}

#[test]
fn labels_of_attributes_name_their_op() {
    for &op in Opcode::ALL {
        let stem = op.name().split_once('.').expect("names have a dialect").1;
        let mut labels: Vec<&str> = op.schema().attributes.iter().filter_map(|spec| spec.label).collect();
        for label in &labels {
            let number = label.strip_prefix(stem).and_then(|rest| rest.strip_prefix("_i"));
            assert!(number.is_some_and(|n| n.parse::<u32>().is_ok()), "{}: {label}", op.name());
        }
        let count = labels.len();
        labels.dedup();
        assert_eq!(labels.len(), count, "{}", op.name());
    }
}
