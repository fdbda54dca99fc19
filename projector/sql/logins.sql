-- Who has which login, by key.
SELECT account, mandate, login_identifier, disabled, version
FROM accounts FINAL
ORDER BY account
