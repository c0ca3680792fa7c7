import SettingsServer

Program.run(CommandLine.arguments)
