//===- stretto-opt.cpp - run passes on stage IR ---------------------------===//

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "stretto/Driver/Register.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  stretto::registerAllDialects(registry);
  stretto::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Stretto optimizer driver\n", registry));
}
