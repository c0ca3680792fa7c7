import Platform

await Tool.run(Array(ProcessArguments.all.dropFirst()))
