// A line through (token, label): numbers, no table.
stretto.layer @line(%tokens: tensor<?x?xi32> dims [batch, seq], %labels: tensor<?x?xi32> dims [batch, seq],
                    %mask: tensor<?x?xf32> dims [batch, seq],
                    params(%a: tensor<f32> init zeros, %b: tensor<f32> init zeros)) -> (tensor<f32>, tensor<f32>) {
  %k = stretto.constant 0.01 : tensor<f32>
  %xi = stretto.convert %tokens : tensor<?x?xi32> -> tensor<?x?xf32>
  %x = stretto.mul %xi, %k : tensor<?x?xf32>, tensor<f32> -> tensor<?x?xf32>
  %li = stretto.convert %labels : tensor<?x?xi32> -> tensor<?x?xf32>
  %l = stretto.mul %li, %k : tensor<?x?xf32>, tensor<f32> -> tensor<?x?xf32>
  %ax = stretto.mul %x, %a : tensor<?x?xf32>, tensor<f32> -> tensor<?x?xf32>
  %y = stretto.add %ax, %b : tensor<?x?xf32>, tensor<f32> -> tensor<?x?xf32>
  %d = stretto.sub %y, %l : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %q = stretto.mul %d, %d : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %m = stretto.mul %q, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %s = stretto.reduce sum %m dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %c = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %s, %c : tensor<f32>, tensor<f32>
}
stretto.model @regress(%tokens: tensor<?x?xi32> dims [batch, seq], %labels: tensor<?x?xi32> dims [batch, seq],
                       %mask: tensor<?x?xf32> dims [batch, seq]) {
  %s, %c = stretto.call @line(%tokens, %labels, %mask) scope "line" : (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>)
  stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
}
