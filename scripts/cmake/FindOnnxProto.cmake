# The ONNX schema (libonnx-dev) and the compiler for it (protobuf-c-compiler).
find_path(ONNX_PROTO_DIR onnx/onnx.proto)
find_program(PROTOC_C NAMES protoc-c)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxProto REQUIRED_VARS ONNX_PROTO_DIR PROTOC_C)
