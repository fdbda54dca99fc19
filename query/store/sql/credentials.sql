-- The accounts of a login identifier, those that are not disabled first. Table accounts, by skip index ix_login.
SELECT account, password_hash, administrative, disabled
FROM accounts FINAL
WHERE login_identifier = {login:String}
ORDER BY disabled, account
LIMIT 2
