import js from '@eslint/js';
import jupyterPlugin from '@jupyter/eslint-plugin';
import { defineConfig } from 'eslint/config';
import prettierRecommended from 'eslint-plugin-prettier/recommended';
import reactHooks from 'eslint-plugin-react-hooks';
import globals from 'globals';
import tseslint from 'typescript-eslint';

export default defineConfig([
  {
    ignores: [
      '**/*.d.ts',
      '**/*.js',
      '**/build/',
      '**/coverage/',
      '**/dist/',
      '**/node_modules/',
      '**/playwright-report/',
      '**/test-results/',
      '.venv/',
      'jupyter_elastic/',
      'lib/'
    ]
  },
  js.configs.recommended,
  tseslint.configs.recommended,
  jupyterPlugin.configs.recommended,
  {
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    plugins: { jupyter: jupyterPlugin, 'react-hooks': reactHooks },
    languageOptions: {
      globals: { ...globals.browser },
      parserOptions: { project: 'tsconfig.test.json', sourceType: 'module' }
    },
    rules: {
      '@typescript-eslint/naming-convention': [
        'error',
        {
          selector: 'interface',
          format: ['PascalCase'],
          custom: { regex: '^I[A-Z]', match: true }
        }
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      // JupyterLab's own idiom: a namespace holds what belongs to one class or module.
      '@typescript-eslint/no-namespace': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { args: 'none', caughtErrors: 'none' }
      ],
      curly: ['error', 'all'],
      eqeqeq: 'error',
      'max-lines': ['error', { max: 400 }],
      'no-console': 'error',
      'prefer-arrow-callback': 'error',
      'react-hooks/exhaustive-deps': 'error',
      'react-hooks/rules-of-hooks': 'error'
    }
  },
  {
    files: ['ui-tests/**/*.ts'],
    languageOptions: { globals: { ...globals.browser, ...globals.node } }
  },
  prettierRecommended
]);
