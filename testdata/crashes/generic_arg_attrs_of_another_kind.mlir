// refused
// The attributes of the arguments are no list of one dictionary for each argument.
"func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main", arg_attrs = {a = 1 : i64}}> ({
^bb0(%x: tensor<2xf32>):
  "func.return"(%x) : (tensor<2xf32>) -> ()
}) : () -> ()
