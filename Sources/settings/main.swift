await Tool.run(Array(CommandLine.arguments.dropFirst()))
