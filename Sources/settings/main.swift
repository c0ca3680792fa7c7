import Platform

// The first argument is the name of the program. Escapes replace bytes that are not UTF-8, for example in file names.
await Tool.run(Array(ProcessArguments.withEscapedBytes.dropFirst()))
