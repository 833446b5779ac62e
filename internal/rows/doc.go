// It depends on neither the store nor queries.
package rows
