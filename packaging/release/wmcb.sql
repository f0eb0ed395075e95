-- What wixl has no words for, put into the database that it leaves; a statement a line.

-- The service belongs to it where that was asked for.
UPDATE `Component` SET `Condition` = 'DAEMON = 1' WHERE `Component` = 'Daemon'
UPDATE `Property` SET `Value` = 'DAEMON;WIX_DOWNGRADE_DETECTED;WIX_UPGRADE_DETECTED' WHERE `Property` = 'SecureCustomProperties'

-- A file that tells its version is not replaced by one of which the installer knows none.
UPDATE `File` SET `Version` = '$(Version).0', `Language` = '1033' WHERE `File` = 'Program'

-- What is for a failure is put off until then (0x400), too; else Windows runs it at once.
UPDATE `CustomAction` SET `Type` = 3410 WHERE `Action` = 'TakeDaemonBack'

-- The former version goes before anything of this one is made, and comes back where that fails: wixl puts this where
-- Windows does not allow it.
UPDATE `InstallExecuteSequence` SET `Sequence` = 1510 WHERE `Action` = 'RemoveExistingProducts'

-- An entry of the machine's Path (*), made (=) and taken away again (-). It stands before the others: `prepare` puts the
-- resident service's folder there, too, with a program that may be older.
CREATE TABLE `Environment` (`Environment` CHAR(72) NOT NULL, `Name` CHAR(255) NOT NULL LOCALIZABLE, `Value` CHAR(255) LOCALIZABLE, `Component_` CHAR(72) NOT NULL PRIMARY KEY `Environment`)
INSERT INTO `Environment` (`Environment`, `Name`, `Value`, `Component_`) VALUES ('Path', '=-*PATH', '[INSTALLFOLDER];[~]', 'Program')
INSERT INTO `InstallExecuteSequence` (`Action`, `Sequence`) VALUES ('RemoveEnvironmentStrings', 3300)
INSERT INTO `InstallExecuteSequence` (`Action`, `Sequence`) VALUES ('WriteEnvironmentStrings', 5200)
