-- The accounts of a login identifier. Table accounts, by skip index ix_login.
SELECT account, password_hash, administrative, disabled
FROM accounts FINAL
WHERE login_identifier = {login:String}
ORDER BY account
LIMIT 2
