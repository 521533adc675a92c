/**
 * Languages that customers write in. The desk speaks English only, but says so in theirs.
 */

/** Words by which a language is known. */
const foreign: ReadonlyArray<readonly [language: string, words: RegExp]> = [
  [
    "de",
    /\b(ich|meine?n?|mein|bestellung|ist|nicht|wo|bitte|kaputt|hallo|danke|und|das|paket|zurück|guten tag|lampe)\b/g
  ],
  ["fr", /\b(je|ma|mon|mes|commande|est|bonjour|merci|où|cassée?|lampe|colis|vous|une|le|la|pas|ne)\b/g],
  ["es", /\b(mi|mis|pedido|está|hola|gracias|dónde|rota|roto|lámpara|quiero|el|la|una|por favor|es)\b/g],
  ["it", /\b(il|mio|mia|ordine|è|ciao|grazie|dove|rotta|rotto|lampada|voglio|una|per favore|buongiorno)\b/g],
  ["nl", /\b(ik|mijn|bestelling|is|niet|waar|alstublieft|kapot|hallo|bedankt|een|het|pakket)\b/g]
]

/** Words by which English is known. */
const english = /\b(i|my|the|is|it|and|order|please|you|your|a|an|of|to|was|not|have|what|where|how|can|do)\b/g

/** The language of a text that isn't English: its code, or `"other"` where the script is another one. */
export const languageOf = (text: string): string | undefined => {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  const latin = text.match(/\p{Script=Latin}/gu)?.length ?? 0
  if (letters > 0 && latin * 2 < letters) return "other"
  const count = (pattern: RegExp): number => new Set(text.match(pattern) ?? []).size
  const [best] = foreign.map(([language, words]) => ({ language, hits: count(words) })).sort((one, other) =>
    other.hits - one.hits
  )
  return best !== undefined && best.hits >= 2 && best.hits > count(english) ? best.language : undefined
}

const sorry: Readonly<Record<string, string>> = {
  de:
    "Entschuldigung, ich spreche bisher nur Englisch. Bitte schreiben Sie mir auf Englisch, am besten mit Ihrer Bestellnummer.",
  fr:
    "Désolé, je ne parle pour l'instant que l'anglais. Écrivez-moi en anglais, si possible avec votre numéro de commande.",
  es: "Lo siento, por ahora solo hablo inglés. Escríbame en inglés, si es posible con su número de pedido.",
  it: "Mi dispiace, per ora parlo solo inglese. Mi scriva in inglese, se possibile con il numero del Suo ordine.",
  nl: "Sorry, ik spreek voorlopig alleen Engels. Schrijf me in het Engels, liefst met uw bestelnummer.",
  other: "I'm sorry, I only speak English so far. Please write to me in English, best with your order number."
}

/** Says in a language, or else in English, that the desk speaks English only. */
export const sorryIn = (language: string | undefined): string => sorry[language ?? "other"]!
