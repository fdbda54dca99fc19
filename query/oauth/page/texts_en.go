package page

var english = texts{
	Lang: "en",

	LoginTitle:       "Log in",
	LoginLead:        "A program wants to connect to your account. You decide on the next page what it may do.",
	Login:            "Login",
	Password:         "Password",
	SignIn:           "Log in",
	Error:            "Error",
	WrongCredentials: "The login or the password is wrong.",
	TooManyAttempts:  "There were too many attempts. Try again in %s.",
	LoginUnavailable: "Logging in is not possible at the moment. Try again shortly.",

	ConsentTitle:           "Allow access?",
	ConsentLead:            "A program asks for access to your account.",
	Program:                "Program",
	NameVouched:            "Described by",
	NameUnverified:         "Not verified.",
	NameUnverifiedExplains: "The program gave itself this name. Anybody could use it.",
	AnswerGoesTo:           "The answer goes to",
	LoopbackWarning:        "A program on this computer.",
	AppWarning:             "An app on this device.",
	LocalExplains:          "Any program that runs here can use this address and this name. Allow it only if you have just started the connection yourself.",
	Account:                "Logged in as",
	Switch:                 "Switch account",
	Granted:                "The program may",
	Scopes: map[string]granted{
		"mcp":            {"Read your data", "Prices, sites, products, orders and files that your account may see. It cannot change anything."},
		"offline_access": {"Stay logged in", "For up to 30 days, until access is revoked."},
	},
	Allow: "Allow",
	Deny:  "Deny",

	TechnicalDetails: "Technical details",
	Code:             "Code",
	Detail:           "Detail",
	Request:          "Request",
	TryAgainIn:       "Try again in %s.",
	Problems: map[Reason]problem{
		Expired:           {"This page has expired", "A connection has to be confirmed within 10 minutes. Nothing was granted.", "Go back to the program and start the connection again."},
		UnknownClient:     {"Unknown program", "The program that sent you here is not registered, or no longer.", "Remove the connection in the program and set it up again. If that does not help, tell the makers of the program."},
		BadRedirect:       {"Wrong return address", "The program wants the answer to be sent to an address that does not belong to it. Nothing was sent there.", "Do not continue if you did not start this yourself. Otherwise tell the makers of the program."},
		BadRequest:        {"The request is not valid", "The program sent a request that cannot be answered.", "Go back to the program and start the connection again. If that does not help, tell its makers the details below."},
		ClientUnreachable: {"The program cannot be checked", "The description of the program could not be fetched from its website, or it is wrong.", "Try again in a few minutes. If that does not help, tell the makers of the program the details below."},
		OtherBrowser:      {"This page belongs to another window", "The form does not belong to this browser, or cookies are switched off.", "Allow cookies for this site, go back to the program and start the connection again."},
		TooManyRequests:   {"Too many requests", "There were too many requests in a short time.", "Wait a moment, then go back to the program and start the connection again."},
		Unavailable:       {"Not available at the moment", "The service cannot answer right now. Nothing was granted.", "Try again in a few minutes."},
		Internal:          {"Something went wrong", "The fault is ours. Nothing was granted.", "Go back to the program and start the connection again. If that does not help, tell us the details below."},
	},

	second: "1 second", seconds: "%d seconds", minute: "1 minute", minutes: "%d minutes",
}
