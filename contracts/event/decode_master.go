package event

import "preismon/contracts"

func (p *decoder) site() *contracts.Site {
	s := new(contracts.Site)
	p.object(siteFields, func(name string) {
		switch name {
		case "site":
			s.Site = p.siteKey()
		case "name":
			s.Name = p.text()
		case "siteType":
			s.SiteType = contracts.SiteType(p.text())
		case "countryCode":
			s.CountryCode = p.text()
		case "currencyCode":
			s.CurrencyCode = p.currency()
		case "operator":
			s.Operator = p.text()
		case "canonicalCountryMarket":
			s.CanonicalCountryMarket = p.boolean()
		case "priceComparisonMarket":
			s.PriceComparisonMarket = p.boolean()
		}
	})
	return s
}

func (p *decoder) item() *contracts.Item {
	i := new(contracts.Item)
	p.object(itemFields, func(name string) {
		switch name {
		case "itemId":
			i.ItemID = id[contracts.ItemID](p)
		case "ean":
			i.EAN = p.text()
		case "pzn":
			i.PZN = p.text()
		case "asin":
			i.ASIN = p.text()
		case "asinLocale":
			i.ASINLocale = p.text()
		case "name":
			i.Name = p.text()
		case "brand":
			i.Brand = p.text()
		case "manufacturer":
			i.Manufacturer = p.text()
		}
	})
	return i
}

func (p *decoder) mandate() *contracts.Mandate {
	m := new(contracts.Mandate)
	p.object(mandateFields, func(name string) {
		switch name {
		case "mandateId":
			m.MandateID = id[contracts.MandateID](p)
		case "name":
			m.Name = p.text()
		case "package":
			p.object(packageFields, func(name string) {
				switch name {
				case "name":
					m.Package.Name = p.text()
				case "maxItems":
					m.Package.MaxItems = int(p.integer())
				}
			})
		}
	})
	return m
}

func (p *decoder) account() *contracts.Account {
	a := new(contracts.Account)
	p.object(accountFields, func(name string) {
		switch name {
		case "accountId":
			a.AccountID = id[contracts.AccountID](p)
		case "mandateId":
			a.MandateID = id[contracts.MandateID](p)
		case "loginIdentifier":
			a.LoginIdentifier = p.text()
		case "passwordHash":
			a.PasswordHash = p.text()
		case "administrative":
			a.Administrative = p.boolean()
		case "disabled":
			a.Disabled = p.boolean()
		case "permissions":
			a.Permissions = list(p, func() contracts.Permission { return contracts.Permission(p.text()) })
		case "scope":
			p.object(scopeFields, func(name string) {
				switch name {
				case "allOrders":
					a.Scope.AllOrders = p.boolean()
				case "orders":
					a.Scope.Orders = list(p, func() contracts.OrderID { return id[contracts.OrderID](p) })
				case "allSites":
					a.Scope.AllSites = p.boolean()
				case "sites":
					a.Scope.Sites = list(p, p.siteKey)
				}
			})
		}
	})
	return a
}

func (p *decoder) order() *contracts.Order {
	o := new(contracts.Order)
	p.object(orderFields, func(name string) {
		switch name {
		case "orderId":
			o.OrderID = id[contracts.OrderID](p)
		case "mandateId":
			o.MandateID = id[contracts.MandateID](p)
		case "alias":
			o.Alias = p.text()
		case "name":
			o.Name = p.text()
		case "active":
			o.Active = p.boolean()
		case "createdAt":
			o.CreatedAt = p.time()
		case "items":
			o.Items = list(p, func() contracts.ItemID { return id[contracts.ItemID](p) })
		case "sites":
			o.Sites = list(p, p.siteKey)
		case "schedule":
			o.Schedule = new(contracts.Schedule)
			p.object(scheduleFields, func(name string) {
				switch name {
				case "intervalMinutes":
					o.Schedule.IntervalMinutes = int(p.integer())
				case "lastRunAt":
					t := p.time()
					o.Schedule.LastRunAt = &t
				case "nextRunAt":
					t := p.time()
					o.Schedule.NextRunAt = &t
				}
			})
		case "counters":
			o.Counters = list(p, p.counters)
		case "legacy":
			o.Legacy = p.boolean()
		case "memberships":
			o.Memberships = list(p, p.membership)
		}
	})
	return o
}

func (p *decoder) membership() (m contracts.Membership) {
	p.object(membershipFields, func(name string) {
		switch name {
		case "itemId":
			m.ItemID = id[contracts.ItemID](p)
		case "sites":
			m.Sites = p.text()
		}
	})
	return m
}

func (p *decoder) counters() (c contracts.SiteCounters) {
	p.object(countersFields, func(name string) {
		switch name {
		case "site":
			c.Site = p.siteKey()
		case "configuredObservations":
			c.ConfiguredObservations = int(p.integer())
		case "expectedProcessedByNow":
			c.ExpectedProcessedByNow = int(p.integer())
		case "processedObservations":
			c.ProcessedObservations = int(p.integer())
		}
	})
	return c
}

func (p *decoder) referencePrices() *contracts.ReferencePrices {
	r := new(contracts.ReferencePrices)
	p.object(referenceFields, func(name string) {
		switch name {
		case "mandateId":
			r.MandateID = id[contracts.MandateID](p)
		case "itemId":
			r.ItemID = id[contracts.ItemID](p)
		case "prices":
			r.Prices = list(p, func() (e contracts.ReferencePrice) {
				missing := true // 0 is a price, so its absence must not read as 0
				p.object(priceFields, func(name string) {
					switch name {
					case "amountMinor":
						e.AmountMinor, missing = p.integer(), false
					case "currencyCode":
						e.CurrencyCode = p.currency()
					case "appliesToSite":
						e.AppliesToSite = p.siteKey()
					case "referenceQuantity":
						e.ReferenceQuantity = p.text()
					case "priceType":
						e.PriceType = p.text()
					}
				})
				if missing {
					p.failf("amountMinor: missing")
				}
				return e
			})
		}
	})
	return r
}

func (p *decoder) customerData() *contracts.CustomerData {
	c := new(contracts.CustomerData)
	p.object(customerFields, func(name string) {
		switch name {
		case "mandateId":
			c.MandateID = id[contracts.MandateID](p)
		case "itemId":
			c.ItemID = id[contracts.ItemID](p)
		case "category":
			c.Category = p.text()
		case "fields":
			if p.next() != '{' {
				p.failf("not an object")
				return
			}
			c.Fields = map[string]string{}
			p.members(func(key string) {
				if _, twice := c.Fields[key]; twice {
					p.failf("given twice")
				} else if !p.literal("null") {
					c.Fields[string([]byte(key))] = p.text()
				}
			})
		}
	})
	return c
}

func (p *decoder) fileJob() *contracts.FileJob {
	j := new(contracts.FileJob)
	p.object(fileJobFields, func(name string) {
		switch name {
		case "fileJobId":
			j.FileJobID = id[contracts.FileJobID](p)
		case "mandateId":
			j.MandateID = id[contracts.MandateID](p)
		case "orderId":
			j.OrderID = id[contracts.OrderID](p)
		case "name":
			j.Name = p.text()
		case "createdAt":
			j.CreatedAt = p.time()
		}
	})
	return j
}

func (p *decoder) fileArchive() *contracts.FileArchive {
	a := new(contracts.FileArchive)
	p.object(archiveFields, func(name string) {
		switch name {
		case "archiveId":
			a.ArchiveID = id[contracts.ArchiveID](p)
		case "fileJobId":
			a.FileJobID = id[contracts.FileJobID](p)
		case "mandateId":
			a.MandateID = id[contracts.MandateID](p)
		case "orderId":
			a.OrderID = id[contracts.OrderID](p)
		case "archivedAt":
			a.ArchivedAt = p.time()
		case "files":
			a.Files = list(p, func() (f contracts.ArchivedFile) {
				p.object(fileFields, func(name string) {
					switch name {
					case "name":
						f.Name = p.text()
					case "filename":
						f.Filename = p.text()
					case "sizeBytes":
						f.SizeBytes = p.integer()
					case "sha256":
						f.SHA256 = p.text()
					}
				})
				return f
			})
		}
	})
	return a
}
