package docs

import "fmt"

// chrome are the words of the frame, by language and key. The reference itself
// is the contract, which is in English.
var chrome = map[string]map[string]string{
	"en": {
		"title": "Reference", "skip": "To the reference", "contents": "Contents", "search": "Search the reference", "found": "{n} found", "none": "Nothing has all these words.",
		"about": "About", "errors": "Errors", "headers": "Headers", "records": "Records", "token": "A token for the examples",
		"tokenFrom": "With a login of yours. The commands below take the token from", "login": "Log in",
		"parameters": "Parameters", "body": "Body", "answer": "Answer", "example": "Example of an answer", "copy": "Copy", "copied": "Copied",
	},
	"de": {
		"title": "Referenz", "skip": "Zur Referenz", "contents": "Inhalt", "search": "In der Referenz suchen", "found": "{n} gefunden", "none": "Nichts hat alle diese Wörter.",
		"about": "Überblick", "errors": "Fehler", "headers": "Kopfzeilen", "records": "Datensätze", "token": "Ein Token für die Beispiele",
		"tokenFrom": "Mit Ihrer Anmeldung. Die Befehle darunter nehmen den Token aus", "login": "Anmelden",
		"parameters": "Parameter", "body": "Rumpf", "answer": "Antwort", "example": "Beispiel einer Antwort", "copy": "Kopieren", "copied": "Kopiert",
	},
}

// said gives a word of the frame; one that is missing is a mistake here.
func said(lang, key string) (string, error) {
	word, ok := chrome[lang][key]
	if !ok {
		return "", fmt.Errorf("docs: no word for %s in %s", key, lang)
	}
	return word, nil
}
