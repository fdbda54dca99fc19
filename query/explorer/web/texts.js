// The texts of the page in its languages.

const en = {
  title: 'Price explorer', language: 'Language', logout: 'Log out',
  loginTitle: 'Log in', loginLead: 'Use the login of your account. You stay logged in until you close this tab.',
  loginName: 'Login', password: 'Password', loginDo: 'Log in', wrong: 'The login or the password is wrong.', lost: 'The login has expired. Log in again.',
  tryAgain: (s) => `Try again in ${s} seconds.`, unreachable: 'The service cannot be reached.', retry: 'Try again', loadingLists: 'Loading sites and products', loadingView: 'Loading', shippingUnknown: 'shipping unknown', badAmount: 'Enter an amount above zero, like 1234.50 or 1,234.50.',
  ask: 'What to show', skip: 'Skip to the content', site: 'Site', allSites: 'All sites', products: 'Products', searchHint: 'Name, EAN, PZN, ASIN', chosen: 'Chosen products',
  found: (n, all, more) => `${n} of ${all}${more ? ' and more; search by EAN or id to find any' : ''} products`, remove: (name) => `Remove ${name}`, most: (n) => `At most ${n} products at once.`,
  window: 'Window', day: '24 hours', week: '7 days', month: '30 days', from: 'From', to: 'To', zone: 'Time zone', badZone: 'The browser does not know this time zone.', badWindow: 'The window ends before it begins.',
  views: 'Views', overview: 'Overview', assortment: 'Assortment', assortmentLead: 'All products that you can see, summed up over the window (without a site, over its last 7 days at most): one line for each product and currency. The cheapest offer is among those current at the end of the window, your own price is your reference price, and the difference is in percent of the cheapest. Nothing is converted.', sitesOf: 'Sites', filter: 'Filter', filterHint: 'Name, brand, EAN, PZN, ASIN or id', download: 'Download CSV', downloadParquet: 'Download Parquet',
  trend: 'Trend', trendOf: (first, last) => `Median from ${first} to ${last}`, noPriceSeen: 'no price in the window', reasonUnknown: 'unknown',
  linesOf: (n, all) => `${n} of ${all} lines`, firstLines: (n) => `Showing the first ${n} in this order; the file has all`, moreProducts: (n) => `Incomplete: ${n} products so far.`, unnamed: (n) => `Products without a known name: ${n}; the filter finds them by their codes only.`,
  history: 'History', latest: 'Latest prices', stream: 'Stream',
  sites: 'Sites', orders: 'Orders and files', sitesLead: 'How fresh each site is, and how many of its product and site pairs have a price, are unavailable, or have no result and why.', noSites: 'You have no pairs monitored at any site here.',
  lastCapture: 'Last capture', never: 'never', nextDue: 'Next due', late: 'Late', pairsOf: 'Pairs', overdue: 'Overdue', pending: 'not yet due', accessTemporarilyRestricted: 'access restricted', siteTemporarilyUnavailable: 'site unavailable',
  freshness: (pairs, priced, none, without) => `Of ${pairs} pairs, ${priced} have a price, ${none} are unavailable or not found, and ${without} have no result.`, overdueSites: (n) => `Sites with overdue pairs: ${n}.`, since: (when) => `since ${when}`, neverSeen: 'never captured',
  lateHint: 'Late: a capture was due by the schedule of the order and has not come. Overdue: late by more than another day. A product that a site did not have is due again a day later.',
  ordersLead: 'What was ordered, how its product and site pairs are doing, and the files that were exported from it or imported into it.', noOrders: 'You see no orders.', noOrder: 'There is no such order, or you cannot see it.', ordersOf: (n, all) => `${n} of ${all} orders`,
  order: 'Order', orderId: 'Number', state: 'State', active: 'active', ended: 'ended', health: 'Health', OK: 'good', DEGRADED: 'degraded', UNKNOWN: 'not known', answered: 'Answered', coverage: 'Coverage', nextRun: 'Next run',
  orderNamed: (name) => `Order ${name}`, everyMinutes: (n) => `Scheduled every ${n} minutes.`, oftenNotFound: (n) => `The ${n} pairs that were not found are looked for again a day later.`, noInterval: 'No schedule is known.', atSites: (names) => `At ${names}.`, inconsistent: 'The counters of the source are inconsistent.',
  files: 'Files', file: 'File', fetch: 'Download', kind: 'Kind', exports: 'Export', imports: 'Import', definition: 'Definition', size: 'Size', archivedAt: 'Archived', noFiles: 'No files are archived.', filesOf: (n, of) => `${n} of ${of} files, newest first.`, moreFiles: 'Show more',
  evidence: 'Where this point comes from', productPage: 'Product page', event: 'Event', newestOffers: 'Newest offers, the cheapest with shipping first', thenUnshipped: ', then those with unknown shipping, by price', plusShipping: 'plus unknown shipping',
  inMarkets: 'What it costs in each market', cheapestShipped: 'Cheapest with shipping', noOffer: 'no current offer', newestOf: 'Newest capture', boxesHint: 'Share of all captures in the window at sites that have a buy box, 100 % together.', nobody: 'nobody',
  boxes: 'Who held the buy box', share: 'Share', wins: 'Captures',
  stock: 'Days in and out of stock', calendar: 'Calendar', stockHint: (n) => `The ${n} days of the window in its time zone. What was seen counts until the next capture, for a day at most.`, stockDays: { in: 'In stock', part: 'Part of the day out', out: 'Out of stock', restricted: 'Access restricted', unknown: 'Unknown', none: 'Not seen', unmonitored: 'Not monitored' },
  lowest: 'Lowest', highest: 'Highest',
  filters: 'Filters', any: 'any', narrowings: { since: 'Since', orderId: 'Order', ownMerchant: 'Own merchant', brand: 'Brand', manufacturer: 'Manufacturer', merchant: 'Merchant', isPrime: 'Prime', isBuyBox: 'Buy box', coverageState: 'Outcome' },
  movedTitle: 'What moved in the last 24 hours', movedSince: (when) => `What moved since ${when}`, moved: (pairs, n) => `Of ${pairs} pairs of product and site, ${n} moved`, before: 'Before', after: 'Now', what: 'What happened',
  PRICE_UP: 'price up', PRICE_DOWN: 'price down', BUYBOX_WON: 'buy box: new holder', BUYBOX_LOST: 'buy box: no holder now', boxFromTo: (from, to) => `Buy box: from ${from} to ${to}`, OUT_OF_STOCK: 'out of stock', BACK_IN_STOCK: 'back in stock', NEW_OFFER: 'new offer', GONE: 'gone', UNDERCUT: 'below your price', NO_RESULT: 'no result',
  aboveTitle: 'Where you are above the cheapest featured offer', noPositions: 'You have no reference price to compare offers with.', cheapest: 'Cheapest', of: 'Offered by', difference: 'Difference',
  stands: (n, above, equal, below) => `Of ${n} products and markets with a price of yours: above the cheapest ${above}, equal ${equal}, below ${below}.`,
  newestCapture: (when) => `The newest capture is from ${when}.`, showAll: (n) => `Show all ${n}`, inStock: 'In stock', priced: 'With a price', notFound: 'Not found', changesOf: 'Changes', mostBuyBoxes: 'Usual buy box holder',
  newestElsewhere: (when) => `Nothing was captured in this window. The newest capture is from ${when}.`, showThen: 'Show the 7 days before it', part: 'The chart, the newest offers and the rows have only what you narrowed them to; other captures are not shown. The other tables are not narrowed.', dots: 'Each price is a dot: how long it held is known only from all captures.',
  chooseItem: 'Choose a product to see its prices.', chooseEither: 'Choose a site or a product to see its latest prices.', loading: (n) => `Loading: ${n} rows so far`,
  loaded: (rows, pairs) => `${rows} rows; product and site pairs with rows: ${pairs}`, notMonitored: 'What you chose is not monitored here, so there is nothing to show.', incomplete: 'Incomplete: ', moreLines: (n, all) => `Showing ${n} of ${all} offers: for each product and site, those with the buy box and the cheapest. Choose one site to see the others.`,
  noCharts: 'uPlot, which draws the charts, is missing on this server, so you see tables. Its operator can add it: preismon query --explorer-assets FOLDER.',
  chart: (n) => `Step chart of ${n} offers; the left and right arrow keys move through it, with Shift they move the visible part. Enter shows where a point comes from. The tables below have the same data.`, lanes: 'Outcomes over time for each product and site. The table below has the same data.', readHint: 'Point at the chart to read its prices.',
  due: (unknown, all) => [all && 'What was seen counts until the next capture, but no longer than until one was due; then it is overdue.',
    all > unknown && 'A capture is due an interval after the last one, by the schedule that the orders have now, or a day after the product was not found; up to a tenth later is in time.',
    unknown && `${unknown < all ? `Where no schedule is known (${unknown} of ${all} pairs), one` : 'No schedule is known: a capture'} is due after three times the usual time between captures.`].filter(Boolean).join(' '),
  asOf: (when, ago) => `As of ${when}, ${ago}`, followsNow: 'updates by itself', notFollowed: 'does not update by itself', fixedWindow: 'does not update: the window has a fixed end', pausedZoom: 'paused while zoomed', pausedHidden: 'paused while hidden', pausedFocus: 'paused while you use it', notFollowing: (why) => `cannot update: ${why}`,
  overdueNow: 'Overdue', accessRestricted: 'Access restricted', notLookedFor: 'Not monitored', capture: 'A capture',
  price: 'Price', unavailable: 'Unavailable', noResult: 'No result', unknown: 'Unknown', buyBox: 'Buy box', prime: 'Prime', legend: 'Offers; press to hide or show', asTable: 'Newest rows as a table', unzoom: 'Show the whole window', pairs: 'Outcomes by product and site',
  product: 'Product', merchant: 'Merchant', time: 'Captured', total: 'Total', outcome: 'Outcome', yes: 'yes', no: 'no', noMerchant: 'no merchant',
  ownPrice: 'Own price', ownHint: 'Empty: your own reference price, where there is one. In the currency of each market; nothing is converted.',
  positions: 'Prices of the current offers, without shipping', country: 'Country', own: 'Own price', rank: 'Rank', rankOf: (r, n) => `${r} (${n} offers)`, cheaper: 'Cheaper', equal: 'Equal', dearer: 'More expensive', min: 'Min', median: 'Median', max: 'Max', rankShipped: 'Rank with shipping', unknownOf: (n) => `Shipping unknown: ${n}.`, against: 'Against median', noReference: 'No own price in these currencies: there is not exactly one reference price, or it has too many decimals.',
  streamLead: 'Reads the whole window as NDJSON and shows the lines as they arrive. Without a site or a product: everything that you can see, for 7 days at most. With several products: the first.',
  start: 'Start', stop: 'Stop', rows: 'Rows', rowsPerSecond: 'Rows per second', firstRow: 'First row after', bytes: 'Bytes (not compressed)', streamLines: 'The newest lines',
  running: 'The stream is running.', complete: (n) => `Complete: ${n} rows.`, stopped: (n) => `Stopped after ${n} rows. This is incomplete.`, broken: (n, why) => `Incomplete: the stream broke after ${n} rows (${why}). This is not everything.`,
  same: 'Commands for this view', curl: 'curl', mcp: 'MCP', copy: 'Copy', copied: 'Copied', curlHint: 'First put a token into PREISMON_TOKEN:', mcpPages: 'A tool does not stream: list_results returns the same rows in pages, by nextCursor.',
};

const de = {
  title: 'Preise erkunden', language: 'Sprache', logout: 'Abmelden',
  loginTitle: 'Anmelden', loginLead: 'Mit der Anmeldung Ihres Kontos. Sie bleibt nur in diesem Tab und endet mit ihm.',
  loginName: 'Anmeldename', password: 'Passwort', loginDo: 'Anmelden', wrong: 'Der Anmeldename oder das Passwort ist falsch.', lost: 'Die Anmeldung ist abgelaufen. Melden Sie sich neu an.',
  tryAgain: (s) => `Versuchen Sie es in ${s} Sekunden noch einmal.`, unreachable: 'Der Dienst ist nicht erreichbar.', retry: 'Noch einmal versuchen', loadingLists: 'Sites und Produkte werden geladen', loadingView: 'Wird geladen', shippingUnknown: 'Versand unbekannt', badAmount: 'Das ist kein Betrag über null. Schreiben Sie 1234,50 oder 1.234,50.',
  ask: 'Was gezeigt wird', skip: 'Zum Gezeigten springen', site: 'Site', allSites: 'Alle Sites', products: 'Produkte', searchHint: 'Name, EAN, PZN, ASIN', chosen: 'Gewählte Produkte',
  found: (n, all, more) => `${n} von ${all}${more ? ' und mehr; EAN oder Id findet alle' : ''} Produkten`, remove: (name) => `${name} entfernen`, most: (n) => `Höchstens ${n} Produkte zugleich.`,
  window: 'Zeitraum', day: '24 Stunden', week: '7 Tage', month: '30 Tage', from: 'Von', to: 'Bis', zone: 'Zeitzone', badZone: 'Der Browser kennt diese Zeitzone nicht.', badWindow: 'Der Zeitraum endet, bevor er beginnt.',
  views: 'Ansichten', overview: 'Überblick', assortment: 'Sortiment', assortmentLead: 'Alles, was Sie sehen, über den Zeitraum zusammengezählt (ohne Site höchstens über seine letzten 7 Tage): eine Zeile je Produkt und Währung. Billigstes ist von den Angeboten, die an seinem Ende gelten, eigener Preis Ihr Referenzpreis daneben, Unterschied in Prozent des billigsten. Nichts wird umgerechnet.', sitesOf: 'Sites', filter: 'Filter', filterHint: 'Name, Marke, EAN, PZN, ASIN oder Id', download: 'CSV herunterladen', downloadParquet: 'Parquet herunterladen',
  trend: 'Verlauf', trendOf: (first, last) => `Median von ${first} bis ${last}`, noPriceSeen: 'kein Preis im Zeitraum', reasonUnknown: 'unbekannt',
  linesOf: (n, all) => `${n} von ${all} Zeilen`, firstLines: (n) => `Gezeigt sind die ersten ${n} in dieser Ordnung; die Datei hat alle`, moreProducts: (n) => `Unvollständig: bisher ${n} Produkte.`, unnamed: (n) => `Produkte ohne bekannten Namen: ${n}; der Filter findet sie nur über ihre Codes.`,
  history: 'Verlauf', latest: 'Neueste Preise', stream: 'Datenstrom',
  sites: 'Sites', orders: 'Aufträge und Dateien', sitesLead: 'Von jeder Site, die Sie sehen: wie frisch sie ist, und wie viele ihrer Paare aus Produkt und Site einen Preis haben, nicht verfügbar sind oder kein Ergebnis haben und warum.', noSites: 'Hier wird für Sie an keiner Site ein Paar beobachtet.',
  lastCapture: 'Zuletzt erfasst', never: 'nie', nextDue: 'Nächste fällig', late: 'Verspätet', pairsOf: 'Paare', overdue: 'Überfällig', pending: 'noch nicht fällig', accessTemporarilyRestricted: 'Zugang beschränkt', siteTemporarilyUnavailable: 'Site nicht erreichbar',
  freshness: (pairs, priced, none, without) => `Von ${pairs} Paaren haben ${priced} einen Preis, ${none} sind nicht verfügbar oder nicht gefunden, ${without} haben kein Ergebnis.`, overdueSites: (n) => `Sites mit überfälligen Paaren: ${n}.`, since: (when) => `seit ${when}`, neverSeen: 'nie erfasst',
  lateHint: 'Verspätet: Nach dem Plan des Auftrags war eine Erfassung fällig und kam nicht. Überfällig: seit mehr als einem weiteren Tag. Ein Produkt, das eine Site nicht hatte, ist einen Tag später wieder fällig.',
  ordersLead: 'Was beauftragt ist, wie es um seine Paare aus Produkt und Site steht, und die Dateien, die daraus entstanden oder es begründet haben.', noOrders: 'Sie sehen keine Aufträge.', noOrder: 'Einen solchen Auftrag sehen Sie nicht.', ordersOf: (n, all) => `${n} von ${all} Aufträgen`,
  order: 'Auftrag', orderId: 'Nummer', state: 'Zustand', active: 'aktiv', ended: 'beendet', health: 'Befinden', OK: 'gut', DEGRADED: 'gestört', UNKNOWN: 'nicht bekannt', answered: 'Beantwortet', coverage: 'Abdeckung', nextRun: 'Nächster Lauf',
  orderNamed: (name) => `Auftrag ${name}`, everyMinutes: (n) => `Geplant alle ${n} Minuten.`, oftenNotFound: (n) => `Die ${n} Paare, die nicht gefunden wurden, werden einen Tag später wieder gesucht.`, noInterval: 'Ein Abstand ist nicht bekannt.', atSites: (names) => `Bei ${names}.`, inconsistent: 'Die Zähler der Quelle widersprechen sich.',
  files: 'Dateien', file: 'Datei', fetch: 'Herunterladen', kind: 'Art', exports: 'Export', imports: 'Import', definition: 'Von', size: 'Größe', archivedAt: 'Archiviert', noFiles: 'Es sind keine Dateien archiviert.', filesOf: (n, of) => `${n} von ${of} Dateien, die neuesten zuerst.`, moreFiles: 'Mehr zeigen',
  evidence: 'Woher dieser Punkt kommt', productPage: 'Produktseite', event: 'Ereignis', newestOffers: 'Neueste Angebote, die günstigsten mit Versand zuerst', thenUnshipped: ', dann die mit unbekanntem Versand, nach dem Preis', plusShipping: 'zuzüglich unbekannten Versands',
  inMarkets: 'Was es in jedem Markt kostet', cheapestShipped: 'Billigstes mit Versand', noOffer: 'kein aktuelles Angebot', newestOf: 'Zuletzt erfasst', boxesHint: 'Von allen Erfassungen des Zeitraums an Sites, die eine Buy-Box haben: zusammen 100 %.', nobody: 'niemand',
  boxes: 'Wer die Buy-Box hatte', share: 'Anteil', wins: 'Erfassungen',
  stock: 'Tage mit und ohne Bestand', calendar: 'Kalender', stockHint: (n) => `Von den ${n} Tagen des Zeitraums, nach dem Kalender der Zeitzone. Was gesehen wurde, gilt bis zur nächsten Erfassung, höchstens einen Tag.`, stockDays: { in: 'Verfügbar', part: 'Zeitweise nicht', out: 'Nicht verfügbar', restricted: 'Zugang beschränkt', unknown: 'Unbekannt', none: 'Nicht gesehen', unmonitored: 'Nicht beobachtet' },
  lowest: 'Niedrigster', highest: 'Höchster',
  filters: 'Filter', any: 'beliebig', narrowings: { since: 'Seit', orderId: 'Auftrag', ownMerchant: 'Eigener Händler', brand: 'Marke', manufacturer: 'Hersteller', merchant: 'Händler', isPrime: 'Prime', isBuyBox: 'Buy-Box', coverageState: 'Ergebnis' },
  movedTitle: 'Was sich in den letzten 24 Stunden bewegt hat', movedSince: (when) => `Was sich seit ${when} bewegt hat`, moved: (pairs, n) => `Von ${pairs} Paaren aus Produkt und Site haben sich ${n} bewegt`, before: 'Vorher', after: 'Jetzt', what: 'Was geschah',
  PRICE_UP: 'teurer', PRICE_DOWN: 'billiger', BUYBOX_WON: 'Buy-Box: neuer Inhaber', BUYBOX_LOST: 'Buy-Box: niemand mehr', boxFromTo: (from, to) => `Buy-Box: von ${from} an ${to}`, OUT_OF_STOCK: 'nicht mehr lieferbar', BACK_IN_STOCK: 'wieder lieferbar', NEW_OFFER: 'neues Angebot', GONE: 'verschwunden', UNDERCUT: 'unter Ihrem Preis', NO_RESULT: 'kein Ergebnis',
  aboveTitle: 'Wo Sie über dem billigsten Hauptangebot liegen', noPositions: 'Es gibt keinen Referenzpreis von Ihnen, neben den Angebote gestellt werden könnten.', cheapest: 'Billigstes', of: 'Angeboten von', difference: 'Unterschied',
  stands: (n, above, equal, below) => `Von ${n} Produkten und Märkten mit einem Preis von Ihnen: über dem billigsten ${above}, gleich ${equal}, darunter ${below}.`,
  newestCapture: (when) => `Die neueste Erfassung ist von ${when}.`, showAll: (n) => `Alle ${n} zeigen`, inStock: 'Lieferbar', priced: 'Mit Preis', notFound: 'Nicht gefunden', changesOf: 'Änderungen', mostBuyBoxes: 'Meist in der Buy-Box',
  newestElsewhere: (when) => `In diesem Zeitraum wurde nichts erfasst. Die neueste Erfassung ist von ${when}.`, showThen: 'Die 7 Tage bis dahin zeigen', part: 'Kurven, neueste Angebote und Zeilen zeigen nur, worauf Sie eingegrenzt haben; andere Erfassungen fehlen hier. Die übrigen Tabellen sind nicht eingegrenzt.', dots: 'Jeder Preis ist ein Punkt: Wie lange er galt, zeigen nur alle Erfassungen zusammen.',
  chooseItem: 'Wählen Sie ein Produkt, um seine Preise zu sehen.', chooseEither: 'Wählen Sie eine Site oder ein Produkt, um die neuesten Preise zu sehen.', loading: (n) => `Lädt: bisher ${n} Zeilen`,
  loaded: (rows, pairs) => `${rows} Zeilen; Paare aus Produkt und Site mit Zeilen: ${pairs}`, notMonitored: 'Was Sie gewählt haben, wird hier nicht beobachtet: Nichts wurde gesucht, also ist nichts zu finden.', incomplete: 'Unvollständig: ', moreLines: (n, all) => `Gezeichnet sind ${n} von ${all} Angeboten: von jedem Produkt und jeder Site die mit der Buy-Box und die billigsten. Wählen Sie eine Site, um die anderen zu sehen.`,
  noCharts: 'Dieser Server hat die Dateien von uPlot nicht, das die Kurven zeichnet; darum sehen Sie Tabellen. Wer ihn betreibt, kann sie hinzufügen: preismon query --explorer-assets ORDNER.',
  chart: (n) => `Stufenkurve von ${n} Angeboten; die Tasten links und rechts gehen hindurch, mit Umschalt verschieben sie den gezeigten Teil, Eingabe zeigt, woher ein Punkt kommt. Dasselbe steht in den Tabellen darunter.`, lanes: 'Ergebnisse im Zeitverlauf für jedes Produkt und jede Site. Dasselbe steht in der Tabelle darunter.', readHint: 'Zeigen Sie auf die Kurven, um die Preise zu lesen.',
  due: (unknown, all) => [all && 'Was gesehen wurde, gilt bis zur nächsten Erfassung, aber nicht länger, als bis eine fällig war; dann ist es überfällig.',
    all > unknown && 'Fällig ist eine Erfassung ein Intervall nach der letzten, nach dem Plan, den die Aufträge jetzt haben, oder einen Tag, nachdem das Produkt nicht gefunden wurde; bis zu einem Zehntel später ist rechtzeitig.',
    unknown && `${unknown < all ? `Wo kein Plan bekannt ist (${unknown} von ${all} Paaren), ist eine` : 'Es ist kein Plan bekannt: Eine Erfassung ist'} nach dem Dreifachen des üblichen Abstands der Erfassungen fällig.`].filter(Boolean).join(' '),
  asOf: (when, ago) => `Stand ${when}, ${ago}`, followsNow: 'folgt dem Neuen', notFollowed: 'einmal gelesen', fixedWindow: 'einmal gelesen: der Zeitraum hat ein Ende', pausedZoom: 'angehalten, solange vergrößert ist', pausedHidden: 'angehalten, solange verborgen', pausedFocus: 'angehalten, solange Sie darin sind', notFollowing: (why) => `folgt nicht: ${why}`,
  overdueNow: 'Überfällig', accessRestricted: 'Zugang beschränkt', notLookedFor: 'Nicht beobachtet', capture: 'Eine Erfassung',
  price: 'Preis', unavailable: 'Nicht verfügbar', noResult: 'Kein Ergebnis', unknown: 'Unbekannt', buyBox: 'Buy-Box', prime: 'Prime', legend: 'Angebote; drücken, um sie aus- oder einzublenden', asTable: 'Neueste Zeilen als Tabelle', unzoom: 'Ganzen Zeitraum zeigen', pairs: 'Ergebnisse nach Produkt und Site',
  product: 'Produkt', merchant: 'Händler', time: 'Erfasst', total: 'Gesamt', outcome: 'Ergebnis', yes: 'ja', no: 'nein', noMerchant: 'kein Händler',
  ownPrice: 'Eigener Preis', ownHint: 'Leer: Ihr eigener Referenzpreis, wo es einen gibt. In der Währung des jeweiligen Marktes; nichts wird umgerechnet.',
  positions: 'Preise der aktuellen Angebote, ohne Versand', country: 'Land', own: 'Eigener Preis', rank: 'Rang', rankOf: (r, n) => `${r} (${n} Angebote)`, cheaper: 'Billiger', equal: 'Gleich', dearer: 'Teurer', min: 'Min', median: 'Median', max: 'Max', rankShipped: 'Rang mit Versand', unknownOf: (n) => `Versand unbekannt: ${n}.`, against: 'Zum Median', noReference: 'Kein eigener Preis in diesen Währungen: Nicht genau ein Referenzpreis gilt, oder er hat zu viele Nachkommastellen.',
  streamLead: 'Liest den ganzen Zeitraum als NDJSON und zeigt die Zeilen, wie sie ankommen. Ohne Site und Produkt: alles, was Sie sehen, höchstens 7 Tage. Von mehreren Produkten das erste.',
  start: 'Start', stop: 'Stopp', rows: 'Zeilen', rowsPerSecond: 'Zeilen je Sekunde', firstRow: 'Erste Zeile nach', bytes: 'Bytes (nicht komprimiert)', streamLines: 'Die neuesten Zeilen',
  running: 'Der Datenstrom läuft.', complete: (n) => `Vollständig: ${n} Zeilen.`, stopped: (n) => `Nach ${n} Zeilen angehalten. Das ist unvollständig.`, broken: (n, why) => `Unvollständig: Der Datenstrom brach nach ${n} Zeilen ab (${why}). Das ist nicht das Ganze.`,
  same: 'Befehle für diese Ansicht', curl: 'curl', mcp: 'MCP', copy: 'Kopieren', copied: 'Kopiert', curlHint: 'Vorher einen Token in PREISMON_TOKEN legen:', mcpPages: 'Ein Werkzeug streamt nicht: list_results gibt dieselben Zeilen seitenweise, mit nextCursor.',
};

const all = { en, de };

/** The current language, and its texts. */
export let language = 'en';
export let t = en;

/** speak sets the language and writes the texts of the page. */
export function speak(to) {
  language = to in all ? to : 'en';
  t = all[language];
  document.documentElement.lang = language;
  document.title = `${t.title} · preismon`;
  for (const e of document.querySelectorAll('[data-text]')) e.textContent = t[e.dataset.text];
  for (const e of document.querySelectorAll('[data-label]')) e.setAttribute('aria-label', t[e.dataset.label]);
  for (const e of document.querySelectorAll('[data-placeholder]')) e.placeholder = t[e.dataset.placeholder];
  for (const e of document.querySelectorAll('[data-language]')) e.setAttribute('aria-pressed', e.dataset.language === language);
}

const numbers = new Map(); // creating a formatter costs more than formatting a thousand numbers

/** numberFormat returns the formatter for these options in the current language; each is created only once. */
export function numberFormat(options = {}) {
  const key = `${language} ${JSON.stringify(options)}`;
  if (!numbers.has(key)) numbers.set(key, new Intl.NumberFormat(language, options));
  return numbers.get(key);
}

export const number = (n) => numberFormat().format(n);

export const percent = (v) => `${numberFormat({ maximumFractionDigits: 1 }).format(v)} %`;

/** bytes returns a length in a readable unit. */
export function bytes(n) {
  const [unit, size] = [['megabyte', 1e6], ['kilobyte', 1e3]].find(([, size]) => n >= size) ?? ['byte', 1];
  return numberFormat({ style: 'unit', unit, unitDisplay: unit === 'byte' ? 'long' : 'short', maximumFractionDigits: 1 }).format(n / size);
}

/** fromNow returns, as text, how long ago something was (ms below 0), or how far ahead it is. */
export function fromNow(ms) {
  const [unit, length] = [['day', 86400e3], ['hour', 3600e3], ['minute', 60e3]].find(([, length]) => Math.abs(ms) >= 1.5 * length) ?? ['second', 1e3];
  return new Intl.RelativeTimeFormat(language, { style: 'short' }).format(Math.trunc(ms / length), unit);
}

/** money returns an amount as text; value is in the main unit of the currency. */
export function money(value, currency) {
  if (value === null || value === undefined) return '';
  try {
    return numberFormat({ style: 'currency', currency }).format(value);
  } catch { // not a currency code of three letters
    return `${value} ${currency}`;
  }
}
