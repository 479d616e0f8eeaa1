//! Parts of the texts of programs.

/// The region of a sum of two numbers of `f32`.
pub(crate) const ADD: &str = "({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  })";

/// Returns the text of a function `@main` of one result, `%r`, which `body` defines.
pub(crate) fn main(arguments: &str, body: &str, result: &str) -> String {
    format!("func.func @main({arguments}) -> {result} {{\n{body}\n  return %r : {result}\n}}\n")
}

pub(crate) fn tensor(sizes: &[usize], dtype: &str) -> String {
    format!("tensor<{}{dtype}>", sizes.iter().map(|n| format!("{n}x")).collect::<String>())
}
