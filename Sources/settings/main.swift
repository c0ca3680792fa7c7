import Platform

await Tool.run(Array(ProcessArguments.withEscapedBytes.dropFirst()))
