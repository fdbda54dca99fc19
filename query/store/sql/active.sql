-- Which of some accounts may act. Table accounts, key account.
SELECT account
FROM accounts FINAL
WHERE account IN {accounts:Array(UInt64)} AND NOT administrative AND NOT disabled
ORDER BY account
