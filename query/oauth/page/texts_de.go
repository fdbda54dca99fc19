package page

var german = texts{
	Lang: "de",

	LoginTitle:       "Anmelden",
	LoginLead:        "Ein Programm möchte sich mit Ihrem Konto verbinden. Auf der nächsten Seite entscheiden Sie, was es darf.",
	Login:            "Anmeldename",
	Password:         "Passwort",
	SignIn:           "Anmelden",
	Error:            "Fehler",
	WrongCredentials: "Der Anmeldename oder das Passwort ist falsch.",
	TooManyAttempts:  "Es gab zu viele Versuche. Versuchen Sie es in %s erneut.",
	LoginUnavailable: "Die Anmeldung ist im Moment nicht möglich. Versuchen Sie es in Kürze erneut.",

	ConsentTitle:           "Zugriff erlauben?",
	ConsentLead:            "Ein Programm bittet um Zugriff auf Ihr Konto.",
	Program:                "Programm",
	NameVouched:            "Beschrieben von",
	NameUnverified:         "Nicht geprüft.",
	NameUnverifiedExplains: "Das Programm hat sich diesen Namen selbst gegeben. Jeder könnte ihn verwenden.",
	AnswerGoesTo:           "Die Antwort geht an",
	LoopbackWarning:        "Ein Programm auf diesem Computer.",
	AppWarning:             "Eine App auf diesem Gerät.",
	LocalExplains:          "Jedes Programm, das hier läuft, kann diese Adresse und diesen Namen verwenden. Erlauben Sie den Zugriff nur, wenn Sie die Verbindung gerade selbst begonnen haben.",
	Account:                "Angemeldet als",
	Switch:                 "Konto wechseln",
	Granted:                "Das Programm darf",
	Scopes: map[string]granted{
		"mcp":            {"Ihre Daten lesen", "Preise, Shops, Produkte, Aufträge und Dateien, die Ihr Konto sehen darf. Ändern kann es nichts."},
		"offline_access": {"Angemeldet bleiben", "Bis zu 30 Tage, bis der Zugriff widerrufen wird."},
	},
	Allow: "Erlauben",
	Deny:  "Ablehnen",

	TechnicalDetails: "Technische Angaben",
	Code:             "Code",
	Detail:           "Einzelheit",
	Request:          "Anfrage",
	TryAgainIn:       "Versuchen Sie es in %s erneut.",
	Problems: map[Reason]problem{
		Expired:           {"Diese Seite ist abgelaufen", "Eine Verbindung muss innerhalb von 10 Minuten bestätigt werden. Es wurde nichts erlaubt.", "Gehen Sie zurück zum Programm und beginnen Sie die Verbindung neu."},
		UnknownClient:     {"Unbekanntes Programm", "Das Programm, das Sie hierher geschickt hat, ist nicht oder nicht mehr registriert.", "Entfernen Sie die Verbindung im Programm und richten Sie sie neu ein. Hilft das nicht, wenden Sie sich an den Hersteller des Programms."},
		BadRedirect:       {"Falsche Rücksprungadresse", "Das Programm will die Antwort an eine Adresse schicken lassen, die ihm nicht gehört. Dorthin wurde nichts geschickt.", "Fahren Sie nicht fort, wenn Sie dies nicht selbst begonnen haben. Wenden Sie sich sonst an den Hersteller des Programms."},
		BadRequest:        {"Die Anfrage ist nicht gültig", "Das Programm hat eine Anfrage geschickt, die nicht beantwortet werden kann.", "Gehen Sie zurück zum Programm und beginnen Sie die Verbindung neu. Hilft das nicht, nennen Sie dem Hersteller die Angaben unten."},
		ClientUnreachable: {"Das Programm kann nicht geprüft werden", "Die Beschreibung des Programms war auf seiner Website nicht abrufbar, oder sie ist falsch.", "Versuchen Sie es in einigen Minuten erneut. Hilft das nicht, nennen Sie dem Hersteller die Angaben unten."},
		OtherBrowser:      {"Diese Seite gehört zu einem anderen Fenster", "Das Formular gehört nicht zu diesem Browser, oder Cookies sind abgeschaltet.", "Erlauben Sie Cookies für diese Website, gehen Sie zurück zum Programm und beginnen Sie die Verbindung neu."},
		TooManyRequests:   {"Zu viele Anfragen", "Es gab zu viele Anfragen in kurzer Zeit.", "Warten Sie einen Moment, gehen Sie dann zurück zum Programm und beginnen Sie die Verbindung neu."},
		Unavailable:       {"Im Moment nicht verfügbar", "Der Dienst kann gerade nicht antworten. Es wurde nichts erlaubt.", "Versuchen Sie es in einigen Minuten erneut."},
		Internal:          {"Etwas ist schiefgegangen", "Der Fehler liegt bei uns. Es wurde nichts erlaubt.", "Gehen Sie zurück zum Programm und beginnen Sie die Verbindung neu. Hilft das nicht, nennen Sie uns die Angaben unten."},
	},

	second: "1 Sekunde", seconds: "%d Sekunden", minute: "1 Minute", minutes: "%d Minuten",
}
