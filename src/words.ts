/** Words of a command line: splitting what a person typed, and showing it again. */

/** A text that is not a complete list of words. */
export class UnclosedQuote extends Error {
  constructor(quote: string) {
    super(`unclosed ${quote}`);
    this.name = 'UnclosedQuote';
  }
}

/**
 * Split a text into words the way a shell would, without any expansion.
 *
 * Throws {@link UnclosedQuote}.
 */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    const escapes = char === '\\' && quote !== "'" && i + 1 < text.length;
    if (escapes && (quote === '' || '"\\'.includes(text[i + 1]))) {
      word = (word ?? '') + text[++i];
    } else if (quote !== '') {
      if (char === quote) {
        quote = '';
      } else {
        word = (word ?? '') + char;
      }
    } else if (char === '"' || char === "'") {
      quote = char;
      word = word ?? '';
    } else if (/\s/.test(char)) {
      if (word !== null) {
        words.push(word);
      }
      word = null;
    } else {
      word = (word ?? '') + char;
    }
  }
  if (quote !== '') {
    throw new UnclosedQuote(quote);
  }
  return word === null ? words : [...words, word];
}

/** Join words so that {@link splitWords} returns them again. */
export function joinWords(words: readonly string[]): string {
  return words
    .map(word =>
      word !== '' && !/[\s'"\\]/.test(word)
        ? word
        : `'${word.replace(/'/g, "'\\''")}'`
    )
    .join(' ');
}
