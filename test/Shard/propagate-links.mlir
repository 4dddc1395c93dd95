// RUN: stretto-opt %s --propagate --split-input-file -verify-diagnostics | FileCheck %s
// The links of the axes weigh in: of two values of one size the one stays where it lies that would move over the slower axis.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>, stretto.links = {tp = {bandwidth = 1.0e8}}} {
  // CHECK-LABEL: @slow_tp
  // CHECK: stretto.add {{.*}}<[{tp}]>
  stretto.segment @slow_tp(%x: tensor<64xf32> {stretto.constraint = #stretto.constraint<[{dp}]>},
      %y: tensor<64xf32> {stretto.constraint = #stretto.constraint<[{tp}]>}) -> tensor<64xf32> attributes {direction = "forward"} {
    %z = stretto.add %x, %y : tensor<64xf32>, tensor<64xf32> -> tensor<64xf32>
    stretto.yield %z : tensor<64xf32>
  }
  stretto.step @s(%x: tensor<64xf32>) {
    %a = stretto.invoke @slow_tp(%x, %x) instance "a" : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    stretto.yield
  }
}

// -----

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>, stretto.links = {dp = {bandwidth = 1.0e8}}} {
  // CHECK-LABEL: @slow_dp
  // CHECK: stretto.add {{.*}}<[{dp}]>
  stretto.segment @slow_dp(%x: tensor<64xf32> {stretto.constraint = #stretto.constraint<[{dp}]>},
      %y: tensor<64xf32> {stretto.constraint = #stretto.constraint<[{tp}]>}) -> tensor<64xf32> attributes {direction = "forward"} {
    %z = stretto.add %x, %y : tensor<64xf32>, tensor<64xf32> -> tensor<64xf32>
    stretto.yield %z : tensor<64xf32>
  }
  stretto.step @s(%x: tensor<64xf32>) {
    %a = stretto.invoke @slow_dp(%x, %x) instance "a" : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    stretto.yield
  }
}

// -----

// expected-error@+1 {{links: bandwidth of axis 'tp' must be a number from 1 to 1e13 bytes per second, got 0.000000e+00 : f64}}
module attributes {stretto.mesh = #stretto.mesh<tp = 2>, stretto.links = {tp = {bandwidth = 0.0}}} {
}
