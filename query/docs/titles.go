package docs

import "fmt"

// titles are the names of groups and of operations in other languages than that
// of the contract, by language and the name or id that they have there.
var titles = map[string]map[string]string{"de": {
	"health": "Zustand", "authentication": "Anmeldung", "catalogue": "Katalog", "orders": "Aufträge", "exports": "Exporte", "imports": "Importe",
	"results": "Ergebnisse", "mcp": "KI-Agenten (MCP)", "documents": "Dokumente", "extended": "Erweiterte Lesezugriffe", "extension": "Vertrag der Erweiterung",

	"getHealth":              "Sagen, ob der Dienst erreichbar ist",
	"createToken":            "Einen Zugriffstoken holen",
	"revokeToken":            "Den Token dieser Anfrage widerrufen",
	"listSites":              "Die sichtbaren Sites auflisten",
	"listItems":              "Die sichtbaren Produkte auflisten",
	"listAsinLocales":        "Die Marktplätze der sichtbaren Produkte auflisten",
	"listOrders":             "Die sichtbaren Aufträge auflisten",
	"getOrder":               "Einen Auftrag lesen",
	"listObservationQuality": "Auflisten, wie gut jedes Paar eines Auftrags beobachtet wird",
	"listExports":            "Die Exporte eines Auftrags auflisten",
	"listExportHistory":      "Die archivierten Exportdateien eines Auftrags auflisten",
	"getLatestExport":        "Den neuesten Eintrag der Exportdateien eines Auftrags lesen",
	"downloadExport":         "Eine archivierte Exportdatei herunterladen",
	"listImports":            "Die Importe eines Auftrags auflisten",
	"listImportHistory":      "Die archivierten Importdateien eines Auftrags auflisten",
	"getLatestImport":        "Den neuesten Eintrag der Importdateien eines Auftrags lesen",
	"downloadImport":         "Eine archivierte Importdatei herunterladen",
	"listResults":            "Beobachtungen Seite für Seite lesen",
	"streamResults":          "Alle Beobachtungen eines Zeitraums als Strom lesen",
	"getResultsCapabilities": "Beschreiben, was Lesezugriffe auf Ergebnisse können",
	"callMCP":                "Als KI-Agent mit dem Dienst sprechen",
	"getContractYaml":        "Diesen Vertrag als YAML lesen",
	"getContractJson":        "Diesen Vertrag als JSON lesen",
	"getContractReads":       "Den Teil über Sites, Produkte, Aufträge und Ergebnisse lesen",
	"getContractFiles":       "Den Teil über archivierte Dateien lesen",
	"getContractAgents":      "Den Teil über den Zugang für KI-Agenten lesen",
	"getChangelog":           "Die Geschichte dieses Vertrags lesen",
	"getPostmanCollection":   "Eine Postman-Sammlung aller Lesezugriffe holen",
	"getOrientation":         "Eine kurze Orientierung für Sprachmodelle lesen",
	"getReference":           "Die ganze Referenz als einen Text lesen",
	"getProblemPage":         "Lesen, was ein Fehler bedeutet und was zu tun ist",
	"lookup":                 "Viele Produkte auf einmal nachschlagen",
	"listChanges":            "Verfolgen, was sich ändert",
	"listAlerts":             "Erfahren, wenn eine Regel zutrifft",
	"listWindows":            "Sehen, welche Tage andere Zeilen haben",
	"explainRead":            "Fragen, worauf ein Lesezugriff hinausläuft",
	"getStatistics":          "Beobachtungen zusammenzählen",
	"listPositions":          "Sehen, wo Sie mit jedem Produkt stehen",
	"listMovers":             "Sehen, was sich zwischen zwei Zeitpunkten bewegt hat",
	"listEvidence":           "Sehen, woher eine Zeile kommt",
	"listSiteStatus":         "Sehen, wie frisch jede Site ist",
	"listOrderStatus":        "Sehen, wie es um jeden Auftrag steht",
	"getItemSummary":         "Ein Produkt in einer Anfrage sehen",
	"getOverview":            "Sehen, was sich geändert hat und was Aufmerksamkeit braucht",
	"getExtYAML":             "Den Vertrag der Erweiterung als YAML holen",
	"getExtJSON":             "Den Vertrag der Erweiterung als JSON holen",
	"getExtChangelog":        "Die Geschichte des Vertrags der Erweiterung holen",
}}

// titled gives the name of a group or an operation in a language: original, in
// that of the contract. One that is missing is a mistake here.
func titled(lang, key, original string) (string, error) {
	if lang == "en" {
		return original, nil
	}
	title, ok := titles[lang][key]
	if !ok {
		return "", fmt.Errorf("docs: no title of %s in %s", key, lang)
	}
	return title, nil
}
