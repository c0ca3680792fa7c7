import SettingsServer

Program.run()
