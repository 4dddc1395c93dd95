// The mean label: nothing to train.
stretto.layer @head(%labels: tensor<?x?xi32> dims [batch, seq], %mask: tensor<?x?xf32> dims [batch, seq]) -> (tensor<f32>, tensor<f32>) {
  %l = stretto.convert %labels : tensor<?x?xi32> -> tensor<?x?xf32>
  %m = stretto.mul %l, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %s = stretto.reduce sum %m dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %c = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %s, %c : tensor<f32>, tensor<f32>
}
stretto.model @mean(%labels: tensor<?x?xi32> dims [batch, seq], %mask: tensor<?x?xf32> dims [batch, seq]) {
  %s, %c = stretto.call @head(%labels, %mask) scope "head" : (tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>)
  stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
}
