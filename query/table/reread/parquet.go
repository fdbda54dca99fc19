package reread

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
)

type money struct {
	Value        float64 `parquet:"value"`
	AmountMinor  int64   `parquet:"amountMinor"`
	CurrencyCode string  `parquet:"currencyCode"`
}

type rating struct {
	Value float64 `parquet:"value"`
	Scale int64   `parquet:"scale"`
}

type referencePrice struct {
	Value             float64 `parquet:"value"`
	AmountMinor       int64   `parquet:"amountMinor"`
	CurrencyCode      string  `parquet:"currencyCode"`
	AppliesToSite     *string `parquet:"appliesToSite,optional"`
	ReferenceQuantity *string `parquet:"referenceQuantity,optional"`
	PriceType         *string `parquet:"priceType,optional"`
}

// result is a row with every column that there can be.
type result struct {
	ItemID                  string            `parquet:"itemId"`
	Site                    string            `parquet:"site"`
	CapturedAt              int64             `parquet:"capturedAt,timestamp(millisecond)"`
	Availability            string            `parquet:"availability"`
	Price                   *float64          `parquet:"price,optional"`
	PriceMoney              *money            `parquet:"priceMoney,optional"`
	CurrencyCode            *string           `parquet:"currencyCode,optional"`
	Merchant                *string           `parquet:"merchant,optional"`
	EAN                     *string           `parquet:"ean,optional"`
	PZN                     *string           `parquet:"pzn,optional"`
	ASIN                    *string           `parquet:"asin,optional"`
	ASINLocale              *string           `parquet:"asinLocale,optional"`
	ProductName             *string           `parquet:"productName,optional"`
	Brand                   *string           `parquet:"brand,optional"`
	Manufacturer            *string           `parquet:"manufacturer,optional"`
	OrderIDs                []string          `parquet:"orderIds,list"`
	CustomerData            map[string]string `parquet:"customerData"`
	CoverageState           string            `parquet:"coverageState"`
	LastProcessedAt         *int64            `parquet:"lastProcessedAt,optional,timestamp(millisecond)"`
	ProductURL              *string           `parquet:"productUrl,optional"`
	OfferTitle              *string           `parquet:"offerTitle,optional"`
	ShippingCost            *float64          `parquet:"shippingCost,optional"`
	ShippingCostMoney       *money            `parquet:"shippingCostMoney,optional"`
	TotalPrice              *float64          `parquet:"totalPrice,optional"`
	TotalPriceMoney         *money            `parquet:"totalPriceMoney,optional"`
	DeliveryText            *string           `parquet:"deliveryText,optional"`
	IsPrime                 *bool             `parquet:"isPrime,optional"`
	IsBuyBox                *bool             `parquet:"isBuyBox,optional"`
	ProductRating           *rating           `parquet:"productRating,optional"`
	CustomerReferencePrices []referencePrice  `parquet:"customerReferencePrices,list"`
	ReferencePrice          *float64          `parquet:"referencePrice,optional"`
	ReferencePriceMoney     *money            `parquet:"referencePriceMoney,optional"`
}

// Parquet reads a file; times are written in the zone.
func Parquet(file []byte, zone *time.Location) ([]Record, error) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	absent, _ := f.Lookup("preismon:absent")
	in := parquet.NewGenericReader[result](f)
	all := []Record{}
	rows := make([]result, 100)
	for {
		n, err := in.Read(rows)
		for i := range rows[:n] {
			all = append(all, rows[i].record(f.Schema(), strings.Split(absent, ","), zone))
		}
		clear(rows)
		if errors.Is(err, io.EOF) {
			return all, in.Close()
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *result) record(schema *parquet.Schema, absent []string, zone *time.Location) Record {
	out, v := Record{}, reflect.ValueOf(r).Elem()
	for _, column := range schema.Fields() {
		value := any(fmt.Errorf("no such column is known"))
		for i := range v.NumField() {
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("parquet"), ","); name == column.Name() {
				value = fromGo(v.Field(i))
			}
		}
		if ms, ok := value.(float64); ok && strings.HasSuffix(column.Name(), "At") {
			value = at(int64(ms), zone)
		}
		if value != nil || !slices.Contains(absent, column.Name()) {
			out[column.Name()] = value
		}
	}
	return out
}

// fromGo gives a value as JSON has it.
func fromGo(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return fromGo(v.Elem())
	case reflect.Int64:
		return float64(v.Int())
	case reflect.Slice:
		all := []any{}
		for i := range v.Len() {
			all = append(all, fromGo(v.Index(i)))
		}
		return all
	case reflect.Map:
		all := Record{}
		for _, k := range v.MapKeys() {
			all[k.String()] = v.MapIndex(k).String()
		}
		return all
	case reflect.Struct:
		all := Record{}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("parquet"), ",")
			if value := fromGo(v.Field(i)); value != nil {
				all[name] = value
			}
		}
		return all
	}
	return v.Interface()
}
