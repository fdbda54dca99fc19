package docs

import "fmt"

// chrome holds the words of the page's frame, by language and key.
var chrome = map[string]map[string]string{
	"en": {
		"title": "Reference", "skip": "To the reference", "contents": "Contents", "search": "Search the reference", "found": "{n} found", "none": "Nothing has all these words.",
		"about": "About", "errors": "Errors", "headers": "Headers", "records": "Records", "token": "A token for the examples",
		"tokenFrom": "With a login of yours. The commands below take the token from", "login": "Log in",
		"parameters": "Parameters", "body": "Body", "answer": "Answer", "example": "Example of an answer", "copy": "Copy", "copied": "Copied",
		"noToken": "No token needed.", "agentToken": "Takes a token of the login for agents, with the scope mcp; not that of the other requests.",
		"required": "required", "optional": "may be left out", "forExample": "Example:", "oneOf": "One of", "path": "path", "header": "header",
		"everyError": "Every error is a record of this kind, with one of the codes below; each has a page that says what to do:", "whichError": "When each of them is given:",
	},
	"de": {
		"title": "Referenz", "skip": "Zur Referenz", "contents": "Inhalt", "search": "In der Referenz suchen", "found": "{n} gefunden", "none": "Nichts hat alle diese Wörter.",
		"about": "Überblick", "errors": "Fehler", "headers": "Kopfzeilen", "records": "Datensätze", "token": "Ein Token für die Beispiele",
		"tokenFrom": "Mit Ihrer Anmeldung. Die Befehle darunter nehmen den Token aus", "login": "Anmelden",
		"parameters": "Parameter", "body": "Rumpf", "answer": "Antwort", "example": "Beispiel einer Antwort", "copy": "Kopieren", "copied": "Kopiert",
		"noToken": "Braucht keinen Token.", "agentToken": "Nimmt einen Token der Anmeldung für Agenten, mit dem Scope mcp; nicht den der anderen Anfragen.",
		"required": "erforderlich", "optional": "kann fehlen", "forExample": "Beispiel:", "oneOf": "Eines von", "path": "Pfad", "header": "Kopfzeile",
		"everyError": "Jeder Fehler ist ein Datensatz dieser Art mit einem der Codes darunter; jeder hat eine Seite, die sagt, was zu tun ist:", "whichError": "Wann es welchen gibt:",
	},
}

// said returns a word of the frame; a missing one is a mistake in chrome.
func said(lang, key string) (string, error) {
	word, ok := chrome[lang][key]
	if !ok {
		return "", fmt.Errorf("docs: no word for %s in %s", key, lang)
	}
	return word, nil
}
