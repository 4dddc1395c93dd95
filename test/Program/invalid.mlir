// RUN: stretto-opt %s -split-input-file -verify-diagnostics

// Commands stay within what their segment declares; calls give what it needs.

program.segment @past(x: 64 r) scratch 0 {
  // expected-error @below {{operand [32, +64) leaves the 64 bytes of its argument}}
  program.copy(r arg0[0, 64], r arg0[32, 64])
}

// -----

program.segment @readonly(x: 64 r) scratch 0 {
  // expected-error @below {{writes argument 'x', which is read-only}}
  program.fill(w arg0[0, 64])
}

// -----

program.segment @unknown() scratch 0 {
  // expected-error @below {{there is no argument 2 of 0}}
  program.fill(w arg2[0, 64])
}

// -----

program.segment @needs(x: 128 r) scratch 64 {
}
program.function @f {
  // expected-error @below {{slot 0 has 64 bytes, @needs needs 128}}
  program.call @needs(inputs[0, 64]) using scratch[0, 64] instance ""
}

// -----

program.segment @needs(x: 128 r) scratch 64 {
}
program.function @f {
  // expected-error @below {{scratch has 0 bytes, @needs needs 64}}
  program.call @needs(inputs[0, 128]) instance ""
}
