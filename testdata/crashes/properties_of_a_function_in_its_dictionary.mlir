// runs
// The generic form of a function has its properties in the dictionary after its body.
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%arg0: tensor<i32>):
    "func.return"(%arg0) : (tensor<i32>) -> ()
  }) {function_type = (tensor<i32>) -> tensor<i32>, sym_name = "main"} : () -> ()
}) : () -> ()
